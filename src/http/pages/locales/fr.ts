import type { Sentences } from './en.ts';

export const fr: Sentences = {
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
};
