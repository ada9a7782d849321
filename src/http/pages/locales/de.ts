import type { Sentences } from './en.ts';

export const de: Sentences = {
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
};
