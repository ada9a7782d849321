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
  unsubscribed: 'このようなメールを今後希望されないことを {sender} に伝えました。このページを閉じてかまいません。',
  leftTopic: '「{topic}」を今後希望されないことを {sender} に伝えました。このページを閉じてかまいません。',
  resubscribe: 'もう一度登録する',
  resubscribedTitle: 'もう一度登録しました',
  resubscribed: '{sender} からこのようなメールが再び届くようになります。このページを閉じてかまいません。',
  keptBack:
    'お客様のアドレスは別の理由で {sender} のリストに載っているため、メールが届かないことがあります。削除するよう {sender} にご依頼ください。',
  choose: '受信するメールを選ぶ',
  preferencesTitle: 'どのメールを受信しますか？',
  preferencesLegend: '{sender} から受信するメールを選んでください：',
  preferencesPaused: 'このようなメールの配信はすべて停止されています。選択して保存したものは再び届きます。',
  noTopics: '現在、{sender} から選べるメールはありません。',
  save: '保存する',
  saved: '選択を保存しました。',
  goneTitle: 'このメールは保存されていません',
  gone: '内容は削除されました。メールボックスを探すか、送信者にお問い合わせください。',
  malformedTitle: '処理できませんでした',
  malformed:
    'このアドレスに送られた内容は、ページから送られるものと異なります。メールのリンクをもう一度開いてください。',
  laterTitle: '現在ご利用いただけません',
  later: 'サービスが一時的に停止しています。1 分後にもう一度お試しください。',
  notFoundTitle: 'このリンクは無効です',
  notFound: '途中で切れている可能性があります。メールからもう一度開くか、全体をコピーしてください。',
  tooManyTitle: 'リクエストが多すぎます',
  tooMany: 'お使いのネットワークから 1 分間に多くのリクエストがありました。1 分待ってからもう一度お試しください。',
  faultTitle: 'エラーが発生しました',
  fault: '当サービスの不具合です。記録しましたので、後でもう一度お試しください。',
};
