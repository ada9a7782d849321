import type { Sentences } from './en.ts';

export const ja: Sentences = {
  unsubscribeTitle: '配信を停止しますか？',
  unsubscribeQuestion:
    'このリンクを含むメールは {sender} から送信されました。今後、このようなメールの受信を停止しますか？',
  leaveTopicQuestion: 'このリンクを含むメールは {sender} から送信されました。今後、「{topic}」の受信を停止しますか？',
  unsubscribe: '配信を停止する',
  leaveTopic: '「{topic}」の配信を停止する',
  unsubscribeFromAll: 'このようなメールの配信をすべて停止する',
  unsubscribedTitle: '配信を停止しました',
  unsubscribed:
    '今後このようなメールの受信を希望されない旨を {sender} に伝えました。このページは閉じていただいてかまいません。',
  leftTopic:
    '今後「{topic}」の受信を希望されない旨を {sender} に伝えました。このページは閉じていただいてかまいません。',
  resubscribe: '配信を再開する',
  resubscribedTitle: '配信を再開しました',
  resubscribed: '{sender} からこのようなメールが再び届くようになります。このページは閉じていただいてかまいません。',
  keptBack:
    'お客様のメールアドレスは別の理由で {sender} の配信停止リストに登録されているため、引き続きメールが届かない場合があります。リストから削除するよう {sender} にご依頼ください。',
  choose: '受信するメールを選ぶ',
  preferencesTitle: 'どのメールを受信しますか？',
  preferencesLegend: '{sender} から受信するメールを選んでください：',
  preferencesPaused: 'このようなメールの配信はすべて停止されています。チェックを入れて保存したメールは再び届きます。',
  noTopics: '現在、{sender} から選べるメールはありません。',
  save: '保存する',
  saved: '選択を保存しました。',
  goneTitle: 'このメールは表示できなくなりました',
  gone: '内容は削除されました。お使いのメールボックスをご確認いただくか、送信者にお問い合わせください。',
  suspendedTitle: 'このリンクは利用できません',
  suspended: 'このメールの送信者は停止されています。配信停止は、メール内の配信停止リンクから引き続き行えます。',
  malformedTitle: '処理できませんでした',
  malformed: '送信された内容がこのページのものと一致しません。メールのリンクをもう一度開いてください。',
  laterTitle: '現在ご利用いただけません',
  later: 'サービスが一時的に停止しています。1 分後にもう一度お試しください。',
  notFoundTitle: 'このリンクは無効です',
  notFound: 'リンクが途中で切れている可能性があります。メールからもう一度開くか、リンク全体をコピーしてください。',
  tooManyTitle: 'リクエストが多すぎます',
  tooMany:
    'お使いのネットワークから 1 分間に多数のリクエストがありました。1 分ほど待ってから、もう一度お試しください。',
  faultTitle: 'エラーが発生しました',
  fault: '当サービス側の不具合です。記録いたしましたので、時間をおいてもう一度お試しください。',
  signInMailSubject: '{organization} へのサインイン用リンク',
  signInMailAsked:
    'このメールアドレスで、{organization} の Outbox ダッシュボードにサインインするためのリンクが請求されました。',
  signInMailButton: 'サインイン',
  signInMailCopy: 'ボタンが機能しない場合は、次のアドレスをブラウザーで開いてください：',
  signInMailOnce: 'このリンクは {minutes} 分間、一度だけ使えます。',
  signInMailIgnore:
    'お心当たりがない場合は、何もする必要はありません。このメールがなければ、誰もサインインできません。',
  invitationMailSubject: '{organization} への招待',
  invitationMailReason: '{organization} の Outbox ダッシュボードに招待されました。',
  invitationMailButton: '招待を受ける',
  invitationMailOnce: 'このリンクは {days} 日間、一度だけ使えます。',
  invitationMailIgnore:
    '{organization} にお心当たりがない場合は、何もする必要はありません。リンクを開かない限り、参加することはありません。',
  passkeyMailSubject: '{organization} のアカウントにパスキーが追加されました',
  passkeyMailReason: '{organization} の Outbox ダッシュボードのアカウントに、最初のパスキーが追加されました。',
  passkeyMailAdvice: 'お心当たりがない場合は、オーナーまたはサービスの管理者に削除を依頼してください。',
};
