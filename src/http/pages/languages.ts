import { acceptedIn } from '../../lib/http/http.ts';

const en = {
  unsubscribeTitle: 'Unsubscribe?',
  unsubscribeQuestion: 'This link is from a mail that {sender} sent you. Do you want to stop getting mail like it?',
  leaveTopicQuestion: 'This link is from a mail that {sender} sent you. Do you want to stop getting “{topic}”?',
  unsubscribe: 'Unsubscribe',
  leaveTopic: 'Unsubscribe from “{topic}”',
  unsubscribeFromAll: 'Unsubscribe from all mail like this',
  unsubscribedTitle: 'You have unsubscribed',
  unsubscribed: '{sender} has been notified that you no longer want mail like this. You can close this page.',
  leftTopic: '{sender} has been notified that you no longer want “{topic}”. You can close this page.',
  resubscribe: 'Subscribe again',
  resubscribedTitle: 'You are subscribed again',
  resubscribed: '{sender} may send you mail like this again. You can close this page.',
  keptBack:
    'Your address is on a suppression list of {sender} for another reason, so you may still get no mail. Ask {sender} to remove it.',
  choose: 'Choose what you get',
  preferencesTitle: 'What do you want to get?',
  preferencesLegend: 'Mail from {sender} that you can choose:',
  preferencesPaused: 'You have unsubscribed from all mail like this. Select what you want to get again, and save.',
  noTopics: '{sender} offers nothing to choose from at the moment.',
  save: 'Save',
  saved: 'Your choice has been saved.',
  goneTitle: 'This mail is no longer available',
  gone: 'Its content has been deleted. Look for the mail in your mailbox, or ask the sender.',
  suspendedTitle: 'This link does not work',
  suspended: 'The sender of this mail is suspended. You can still unsubscribe with the unsubscribe link in the mail.',
  malformedTitle: 'That did not work',
  malformed: 'The submitted data does not belong to this page. Open the link from the mail again.',
  laterTitle: 'Temporarily unavailable',
  later: 'The service cannot be reached right now. Try again in a minute.',
  notFoundTitle: 'This link is not valid',
  notFound: 'It may have been cut off. Open it from the mail again, or copy the whole link.',
  tooManyTitle: 'Too many requests',
  tooMany: 'Your network sent many requests within a minute. Wait a minute, then try again.',
  faultTitle: 'Something went wrong',
  fault: 'The error is on our side and has been logged. Try again later.',
  signInMailSubject: 'Your sign-in link for {organization}',
  signInMailAsked:
    'Someone, probably you, requested a link for this address to sign in to the Outbox dashboard of {organization}.',
  signInMailButton: 'Sign in',
  signInMailCopy: 'If the button does not work, open this address in your browser:',
  signInMailOnce: 'The link works once, for {minutes} minutes.',
  signInMailIgnore: 'If it was not you, you do not need to do anything: no one can sign in without this mail.',
  invitationMailSubject: 'You are invited to {organization}',
  invitationMailReason: 'You are invited to the Outbox dashboard of {organization}.',
  invitationMailButton: 'Accept the invitation',
  invitationMailOnce: 'The link works once, for {days} days.',
  invitationMailIgnore:
    'If you do not know {organization}, you do not need to do anything: you join only if you open the link.',
  passkeyMailSubject: 'A passkey was added to your account at {organization}',
  passkeyMailReason: 'Your first passkey was added to your account in the Outbox dashboard of {organization}.',
  passkeyMailAdvice: 'If it was not you, ask an owner or the person who runs the service to remove it.',
  forwardTitle: 'Forward mail to you?',
  forwardQuestion: '{organization} wants to forward mail for {route} to {address}. Do you agree?',
  forwardConfirm: 'Forward the mail to me',
  forwardConfirmedTitle: 'You have agreed',
  forwardConfirmed:
    'Mail for {route} is forwarded to {address} from now on. To end it, ask {organization}. You can close this page.',
  forwardMailSubject: '{organization} wants to forward mail to you',
  forwardMailReason:
    '{organization} wants to forward mail for {route} to this address. Nothing is forwarded unless you agree.',
  forwardMailButton: 'Review and agree',
  forwardMailOnce: 'The link works for {days} days.',
  forwardMailIgnore: 'If you do not want this mail, or do not know the sender, you do not need to do anything.',
};

/** Sentences of the pages for recipients, and of mail to members. A language that lacks one does not compile. */
export type Sentences = Readonly<Record<keyof typeof en, string>>;

const de: Sentences = {
  unsubscribeTitle: 'Abmelden?',
  unsubscribeQuestion:
    '{sender} hat Ihnen die E-Mail geschickt, in der dieser Link stand. Möchten Sie keine solchen E-Mails mehr erhalten?',
  leaveTopicQuestion:
    '{sender} hat Ihnen die E-Mail geschickt, in der dieser Link stand. Möchten Sie „{topic}“ nicht mehr erhalten?',
  unsubscribe: 'Abmelden',
  leaveTopic: '„{topic}“ abbestellen',
  unsubscribeFromAll: 'Alle derartigen E-Mails abbestellen',
  unsubscribedTitle: 'Sie sind abgemeldet',
  unsubscribed:
    'Wir haben {sender} mitgeteilt, dass Sie keine solchen E-Mails mehr erhalten möchten. Sie können diese Seite schließen.',
  leftTopic:
    'Wir haben {sender} mitgeteilt, dass Sie „{topic}“ nicht mehr erhalten möchten. Sie können diese Seite schließen.',
  resubscribe: 'Wieder anmelden',
  resubscribedTitle: 'Sie sind wieder angemeldet',
  resubscribed: '{sender} darf Ihnen wieder solche E-Mails schicken. Sie können diese Seite schließen.',
  keptBack:
    'Ihre Adresse steht aus einem anderen Grund auf einer Sperrliste von {sender}. Möglicherweise erhalten Sie deshalb weiterhin keine E-Mails. Bitten Sie {sender}, die Adresse von der Liste zu nehmen.',
  choose: 'Auswählen, was Sie erhalten möchten',
  preferencesTitle: 'Was möchten Sie erhalten?',
  preferencesLegend: 'E-Mails von {sender}, die Sie auswählen können:',
  preferencesPaused:
    'Sie haben alle derartigen E-Mails abbestellt. Was Sie ankreuzen und speichern, erhalten Sie wieder.',
  noTopics: '{sender} bietet zurzeit nichts zur Auswahl an.',
  save: 'Speichern',
  saved: 'Ihre Auswahl wurde gespeichert.',
  goneTitle: 'Diese E-Mail ist nicht mehr vorhanden',
  gone: 'Der Inhalt wurde gelöscht. Suchen Sie die E-Mail in Ihrem Postfach oder wenden Sie sich an den Absender.',
  suspendedTitle: 'Dieser Link funktioniert nicht',
  suspended:
    'Der Absender dieser E-Mail ist gesperrt. Abmelden können Sie sich weiterhin über den Abmeldelink in der E-Mail.',
  malformedTitle: 'Das hat nicht geklappt',
  malformed:
    'Die übermittelten Daten passen nicht zu dieser Seite. Öffnen Sie den Link bitte noch einmal aus der E-Mail.',
  laterTitle: 'Gerade nicht möglich',
  later: 'Der Dienst ist vorübergehend nicht erreichbar. Bitte versuchen Sie es in einer Minute noch einmal.',
  notFoundTitle: 'Dieser Link ist ungültig',
  notFound:
    'Vielleicht wurde er unterwegs abgeschnitten. Öffnen Sie ihn noch einmal aus der E-Mail oder kopieren Sie ihn vollständig.',
  tooManyTitle: 'Zu viele Anfragen',
  tooMany:
    'Aus Ihrem Netzwerk kamen innerhalb einer Minute sehr viele Anfragen. Bitte warten Sie eine Minute und versuchen Sie es dann noch einmal.',
  faultTitle: 'Etwas ist schiefgegangen',
  fault: 'Der Fehler liegt bei uns und wurde protokolliert. Bitte versuchen Sie es später noch einmal.',
  signInMailSubject: 'Ihr Link zur Anmeldung bei {organization}',
  signInMailAsked:
    'Jemand, vermutlich Sie selbst, hat mit dieser Adresse einen Link zur Anmeldung im Outbox-Dashboard von {organization} angefordert.',
  signInMailButton: 'Anmelden',
  signInMailCopy: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse in Ihrem Browser:',
  signInMailOnce: 'Der Link funktioniert einmal, {minutes} Minuten lang.',
  signInMailIgnore: 'Waren Sie es nicht, brauchen Sie nichts zu tun: Ohne diese E-Mail kann sich niemand anmelden.',
  invitationMailSubject: 'Einladung zu {organization}',
  invitationMailReason: 'Sie sind zum Outbox-Dashboard von {organization} eingeladen.',
  invitationMailButton: 'Einladung annehmen',
  invitationMailOnce: 'Der Link funktioniert einmal, {days} Tage lang.',
  invitationMailIgnore:
    'Kennen Sie {organization} nicht, brauchen Sie nichts zu tun: Sie treten nur bei, wenn Sie den Link öffnen.',
  passkeyMailSubject: 'Neuer Passkey für Ihr Konto bei {organization}',
  passkeyMailReason: 'Ihrem Konto im Outbox-Dashboard von {organization} wurde der erste Passkey hinzugefügt.',
  passkeyMailAdvice:
    'Waren Sie es nicht, lassen Sie ihn von einem Eigentümer oder dem Betreiber des Dienstes entfernen.',
  forwardTitle: 'E-Mails an Sie weiterleiten?',
  forwardQuestion: '{organization} möchte E-Mails an {route} an {address} weiterleiten. Sind Sie einverstanden?',
  forwardConfirm: 'E-Mails an mich weiterleiten',
  forwardConfirmedTitle: 'Sie haben zugestimmt',
  forwardConfirmed:
    'E-Mails an {route} werden ab jetzt an {address} weitergeleitet. Um das zu beenden, wenden Sie sich an {organization}. Sie können diese Seite schließen.',
  forwardMailSubject: '{organization} möchte E-Mails an Sie weiterleiten',
  forwardMailReason:
    '{organization} möchte E-Mails an {route} an diese Adresse weiterleiten. Ohne Ihre Zustimmung wird nichts weitergeleitet.',
  forwardMailButton: 'Ansehen und zustimmen',
  forwardMailOnce: 'Der Link funktioniert {days} Tage lang.',
  forwardMailIgnore: 'Möchten Sie diese E-Mails nicht oder kennen Sie den Absender nicht, brauchen Sie nichts zu tun.',
};

const es: Sentences = {
  unsubscribeTitle: '¿Desea darse de baja?',
  unsubscribeQuestion:
    '{sender} le envió el correo que contenía este enlace. ¿Desea dejar de recibir correos como ese?',
  leaveTopicQuestion: '{sender} le envió el correo que contenía este enlace. ¿Desea dejar de recibir «{topic}»?',
  unsubscribe: 'Darme de baja',
  leaveTopic: 'Darme de baja de «{topic}»',
  unsubscribeFromAll: 'Darme de baja de todos los correos como este',
  unsubscribedTitle: 'Se ha dado de baja',
  unsubscribed:
    'Hemos comunicado a {sender} que usted no desea recibir más correos como este. Puede cerrar esta página.',
  leftTopic: 'Hemos comunicado a {sender} que usted no desea seguir recibiendo «{topic}». Puede cerrar esta página.',
  resubscribe: 'Volver a suscribirme',
  resubscribedTitle: 'Se ha vuelto a suscribir',
  resubscribed: '{sender} puede volver a enviarle correos como este. Puede cerrar esta página.',
  keptBack:
    'Por otro motivo, su dirección figura en una lista de exclusión de {sender}, así que es posible que siga sin recibir correos. Pida a {sender} que la elimine de la lista.',
  choose: 'Elegir lo que desea recibir',
  preferencesTitle: '¿Qué desea recibir?',
  preferencesLegend: 'Correos de {sender} que puede elegir:',
  preferencesPaused: 'Se dio de baja de todos los correos como este. Lo que marque y guarde se le volverá a enviar.',
  noTopics: '{sender} no ofrece nada que elegir en este momento.',
  save: 'Guardar',
  saved: 'Su elección se ha guardado.',
  goneTitle: 'Este correo ya no está disponible',
  gone: 'Su contenido se ha eliminado. Busque el correo en su buzón o pregunte al remitente.',
  suspendedTitle: 'Este enlace no funciona',
  suspended:
    'El remitente de este correo está suspendido. Todavía puede darse de baja con el enlace correspondiente del correo.',
  malformedTitle: 'No ha funcionado',
  malformed: 'Los datos enviados no corresponden a esta página. Abra de nuevo el enlace desde el correo.',
  laterTitle: 'Servicio no disponible en este momento',
  later: 'Vuelva a intentarlo dentro de un minuto.',
  notFoundTitle: 'Este enlace no es válido',
  notFound: 'Es posible que se haya cortado. Ábralo de nuevo desde el correo o cópielo entero.',
  tooManyTitle: 'Demasiadas solicitudes',
  tooMany: 'Se han recibido muchas solicitudes desde su red en un minuto. Espere un minuto y vuelva a intentarlo.',
  faultTitle: 'Algo ha salido mal',
  fault: 'El error es nuestro y ha quedado registrado. Vuelva a intentarlo más tarde.',
  signInMailSubject: 'Su enlace para iniciar sesión en {organization}',
  signInMailAsked:
    'Alguien, probablemente usted, ha pedido con esta dirección un enlace para iniciar sesión en el panel de Outbox de {organization}.',
  signInMailButton: 'Iniciar sesión',
  signInMailCopy: 'Si el botón no funciona, abra esta dirección en su navegador:',
  signInMailOnce: 'El enlace funciona una sola vez, durante {minutes} minutos.',
  signInMailIgnore: 'Si no ha sido usted, no haga nada: nadie puede iniciar sesión sin este correo.',
  invitationMailSubject: 'Invitación a {organization}',
  invitationMailReason: 'Le han invitado al panel de Outbox de {organization}.',
  invitationMailButton: 'Aceptar la invitación',
  invitationMailOnce: 'El enlace funciona una sola vez, durante {days} días.',
  invitationMailIgnore: 'Si no conoce {organization}, no haga nada: solo se une si abre el enlace.',
  passkeyMailSubject: 'Nueva clave de acceso en su cuenta de {organization}',
  passkeyMailReason: 'Se ha añadido la primera clave de acceso a su cuenta en el panel de Outbox de {organization}.',
  passkeyMailAdvice: 'Si no ha sido usted, pida a un propietario o a quien gestiona el servicio que la elimine.',
  forwardTitle: '¿Quiere que se le reenvíe el correo?',
  forwardQuestion: '{organization} quiere reenviar a {address} el correo dirigido a {route}. ¿Está de acuerdo?',
  forwardConfirm: 'Reenviarme el correo',
  forwardConfirmedTitle: 'Ha dado su consentimiento',
  forwardConfirmed:
    'A partir de ahora, el correo dirigido a {route} se reenvía a {address}. Para dejar de recibirlo, diríjase a {organization}. Puede cerrar esta página.',
  forwardMailSubject: '{organization} quiere reenviarle correo',
  forwardMailReason:
    '{organization} quiere reenviar a esta dirección el correo dirigido a {route}. No se reenviará nada sin su consentimiento.',
  forwardMailButton: 'Revisar y aceptar',
  forwardMailOnce: 'El enlace funciona durante {days} días.',
  forwardMailIgnore: 'Si no quiere recibir este correo o no conoce al remitente, no tiene que hacer nada.',
};

const fr: Sentences = {
  unsubscribeTitle: 'Souhaitez-vous vous désabonner ?',
  unsubscribeQuestion:
    '{sender} vous a envoyé l’e-mail qui contenait ce lien. Souhaitez-vous ne plus recevoir ce type d’e-mails ?',
  leaveTopicQuestion:
    '{sender} vous a envoyé l’e-mail qui contenait ce lien. Souhaitez-vous ne plus recevoir « {topic} » ?',
  unsubscribe: 'Me désabonner',
  leaveTopic: 'Me désabonner de « {topic} »',
  unsubscribeFromAll: 'Me désabonner de tous les e-mails de ce type',
  unsubscribedTitle: 'Votre désabonnement est enregistré',
  unsubscribed:
    'Nous avons fait savoir à {sender} que vous ne souhaitez plus recevoir ce type d’e-mails. Vous pouvez fermer cette page.',
  leftTopic:
    'Nous avons fait savoir à {sender} que vous ne souhaitez plus recevoir « {topic} ». Vous pouvez fermer cette page.',
  resubscribe: 'Me réabonner',
  resubscribedTitle: 'Votre réabonnement est enregistré',
  resubscribed: '{sender} peut de nouveau vous envoyer ce type d’e-mails. Vous pouvez fermer cette page.',
  keptBack:
    'Votre adresse figure, pour une autre raison, sur une liste d’exclusion de {sender} ; il se peut que vous ne receviez toujours rien. Demandez à {sender} de l’en retirer.',
  choose: 'Choisir ce que vous souhaitez recevoir',
  preferencesTitle: 'Que souhaitez-vous recevoir ?',
  preferencesLegend: 'E-mails de {sender} que vous pouvez choisir :',
  preferencesPaused:
    'Vous avez demandé à ne plus recevoir ce type d’e-mails. Ce que vous cocherez et enregistrerez vous sera de nouveau envoyé.',
  noTopics: '{sender} ne propose aucun choix pour le moment.',
  save: 'Enregistrer',
  saved: 'Votre choix a été enregistré.',
  goneTitle: 'Cet e-mail n’est plus disponible',
  gone: 'Son contenu a été supprimé. Recherchez cet e-mail dans votre messagerie ou adressez-vous à son expéditeur.',
  suspendedTitle: 'Ce lien ne fonctionne pas',
  suspended:
    'L’expéditeur de cet e-mail est suspendu. Vous pouvez toujours vous désabonner avec le lien prévu à cet effet dans l’e-mail.',
  malformedTitle: 'Cela n’a pas fonctionné',
  malformed: 'Les données envoyées ne correspondent pas à cette page. Ouvrez de nouveau le lien depuis l’e-mail.',
  laterTitle: 'Service momentanément indisponible',
  later: 'Veuillez réessayer dans une minute.',
  notFoundTitle: 'Ce lien n’est pas valide',
  notFound: 'Il a peut-être été tronqué. Ouvrez-le de nouveau depuis l’e-mail ou copiez-le en entier.',
  tooManyTitle: 'Trop de requêtes',
  tooMany:
    'De très nombreuses requêtes sont venues de votre réseau en une minute. Patientez une minute, puis réessayez.',
  faultTitle: 'Une erreur s’est produite',
  fault: 'L’erreur vient de nous et a été enregistrée. Veuillez réessayer plus tard.',
  signInMailSubject: 'Votre lien de connexion à {organization}',
  signInMailAsked:
    'Quelqu’un, probablement vous, a demandé avec cette adresse un lien de connexion au tableau de bord Outbox de {organization}.',
  signInMailButton: 'Se connecter',
  signInMailCopy: 'Si le bouton ne fonctionne pas, ouvrez cette adresse dans votre navigateur :',
  signInMailOnce: 'Le lien fonctionne une seule fois, pendant {minutes} minutes.',
  signInMailIgnore: 'Si ce n’était pas vous, ne faites rien : personne ne peut se connecter sans cet e-mail.',
  invitationMailSubject: 'Invitation à rejoindre {organization}',
  invitationMailReason: 'Vous êtes invité au tableau de bord Outbox de {organization}.',
  invitationMailButton: 'Accepter l’invitation',
  invitationMailOnce: 'Le lien fonctionne une seule fois, pendant {days} jours.',
  invitationMailIgnore:
    'Si vous ne connaissez pas {organization}, ne faites rien : vous ne rejoignez l’organisation qu’en ouvrant le lien.',
  passkeyMailSubject: 'Nouvelle clé d’accès pour votre compte {organization}',
  passkeyMailReason:
    'Une première clé d’accès a été ajoutée à votre compte dans le tableau de bord Outbox de {organization}.',
  passkeyMailAdvice:
    'Si ce n’était pas vous, demandez à un propriétaire ou à la personne qui gère le service de la supprimer.',
  forwardTitle: 'Souhaitez-vous recevoir ces e-mails ?',
  forwardQuestion:
    '{organization} souhaite transférer à {address} les e-mails adressés à {route}. Êtes-vous d’accord ?',
  forwardConfirm: 'Me transférer les e-mails',
  forwardConfirmedTitle: 'Vous avez donné votre accord',
  forwardConfirmed:
    'Les e-mails adressés à {route} sont désormais transférés à {address}. Pour y mettre fin, adressez-vous à {organization}. Vous pouvez fermer cette page.',
  forwardMailSubject: '{organization} souhaite vous transférer des e-mails',
  forwardMailReason:
    '{organization} souhaite transférer à cette adresse les e-mails adressés à {route}. Rien ne sera transféré sans votre accord.',
  forwardMailButton: 'Voir et accepter',
  forwardMailOnce: 'Le lien fonctionne pendant {days} jours.',
  forwardMailIgnore:
    'Si vous ne voulez pas de ces e-mails ou ne connaissez pas l’expéditeur, vous n’avez rien à faire.',
};

const ja: Sentences = {
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
  forwardTitle: 'メールの転送を許可しますか？',
  forwardQuestion: '{organization} が、{route} 宛てのメールを {address} に転送しようとしています。許可しますか？',
  forwardConfirm: '転送を許可する',
  forwardConfirmedTitle: '転送を許可しました',
  forwardConfirmed:
    '今後、{route} 宛てのメールは {address} に転送されます。転送を止めるには、{organization} にご連絡ください。このページは閉じてかまいません。',
  forwardMailSubject: '{organization} からのメール転送の確認',
  forwardMailReason:
    '{organization} が、{route} 宛てのメールをこのアドレスに転送しようとしています。許可しないかぎり、何も転送されません。',
  forwardMailButton: '内容を確認して許可する',
  forwardMailOnce: 'このリンクは {days} 日間有効です。',
  forwardMailIgnore: '転送を希望されない場合、または送信者にお心当たりがない場合は、何もする必要はありません。',
};

export interface Locale {
  /** Language tag for `lang` and `Content-Language` (RFC 5646). */
  readonly tag: string;
  readonly say: Sentences;
}

const ENGLISH: Locale = { tag: 'en', say: en };

export const LOCALES: readonly Locale[] = [
  ENGLISH,
  { tag: 'de', say: de },
  { tag: 'fr', say: fr },
  { tag: 'es', say: es },
  { tag: 'ja', say: ja },
];

/** The first accepted language that is available, otherwise English. @param header `Accept-Language`. */
export const localeFor = (header: string | undefined): Locale => {
  for (const range of acceptedIn(header)) {
    const found = LOCALES.find(({ tag }) => tag === range.split('-')[0]);
    if (found !== undefined) return found;
  }
  return ENGLISH;
};

/** Fills in the placeholders of a sentence, `{sender}` and `{topic}`. Placeholders inside values are not replaced. */
export const fill = (sentence: string, values: Readonly<Record<string, string>>): string =>
  sentence.replace(/\{(\w+)\}/g, (blank, name: string) => values[name] ?? blank);
