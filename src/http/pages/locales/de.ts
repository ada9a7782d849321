import type { Sentences } from './en.ts';

export const de: Sentences = {
  unsubscribeTitle: 'Abmelden?',
  unsubscribeQuestion:
    '{sender} hat Ihnen die E-Mail geschickt, aus der dieser Link stammt. Möchten Sie keine solchen E-Mails mehr?',
  leaveTopicQuestion:
    '{sender} hat Ihnen die E-Mail geschickt, aus der dieser Link stammt. Möchten Sie „{topic}“ nicht mehr erhalten?',
  unsubscribe: 'Abmelden',
  leaveTopic: 'Von „{topic}“ abmelden',
  unsubscribeFromAll: 'Von allen solchen E-Mails abmelden',
  unsubscribedTitle: 'Sie sind abgemeldet',
  unsubscribed: '{sender} weiß jetzt, dass Sie keine solchen E-Mails mehr möchten. Sie können diese Seite schließen.',
  leftTopic: '{sender} weiß jetzt, dass Sie „{topic}“ nicht mehr erhalten möchten. Sie können diese Seite schließen.',
  resubscribe: 'Wieder anmelden',
  resubscribedTitle: 'Sie sind wieder angemeldet',
  resubscribed: '{sender} darf Ihnen wieder solche E-Mails schicken. Sie können diese Seite schließen.',
  keptBack:
    'Ihre Adresse steht aus einem anderen Grund auf einer Liste von {sender}; vielleicht erhalten Sie deshalb weiterhin keine E-Mails. Bitten Sie {sender}, sie zu streichen.',
  choose: 'Auswählen, was Sie erhalten',
  preferencesTitle: 'Was möchten Sie erhalten?',
  preferencesLegend: 'E-Mails von {sender}, die Sie auswählen können:',
  preferencesPaused:
    'Sie haben sich von allen solchen E-Mails abgemeldet. Was Sie ankreuzen und speichern, erhalten Sie wieder.',
  noTopics: '{sender} bietet zurzeit nichts zur Auswahl an.',
  save: 'Speichern',
  saved: 'Ihre Auswahl ist gespeichert.',
  goneTitle: 'Diese E-Mail ist nicht mehr vorhanden',
  gone: 'Ihr Inhalt wurde gelöscht. Suchen Sie sie in Ihrem Postfach oder fragen Sie den Absender.',
  malformedTitle: 'Das hat nicht geklappt',
  malformed:
    'An diese Adresse wurde etwas anderes geschickt, als ihre Seite schickt. Öffnen Sie den Link noch einmal aus der E-Mail.',
  laterTitle: 'Gerade nicht möglich',
  later: 'Der Dienst ist für einen Moment nicht erreichbar. Versuchen Sie es in einer Minute noch einmal.',
  notFoundTitle: 'Dieser Link ist ungültig',
  notFound:
    'Vielleicht wurde er unterwegs abgeschnitten. Öffnen Sie ihn noch einmal aus der E-Mail, oder kopieren Sie ihn vollständig.',
  tooManyTitle: 'Zu viele Anfragen',
  tooMany:
    'Aus Ihrem Netz kamen binnen einer Minute sehr viele Anfragen. Warten Sie eine Minute und versuchen Sie es dann noch einmal.',
  faultTitle: 'Etwas ist schiefgegangen',
  fault: 'Der Fehler liegt bei uns und ist aufgezeichnet. Versuchen Sie es später noch einmal.',
};
