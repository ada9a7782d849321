import type { Sentences } from './en.ts';

export const fr: Sentences = {
  unsubscribeTitle: 'Vous désabonner ?',
  unsubscribeQuestion:
    '{sender} vous a envoyé l’e-mail qui contenait ce lien. Voulez-vous ne plus recevoir d’e-mails de ce genre ?',
  leaveTopicQuestion:
    '{sender} vous a envoyé l’e-mail qui contenait ce lien. Voulez-vous ne plus recevoir « {topic} » ?',
  unsubscribe: 'Me désabonner',
  leaveTopic: 'Me désabonner de « {topic} »',
  unsubscribeFromAll: 'Me désabonner de tous les e-mails de ce genre',
  unsubscribedTitle: 'Vous êtes désabonné(e)',
  unsubscribed:
    '{sender} sait maintenant que vous ne voulez plus d’e-mails de ce genre. Vous pouvez fermer cette page.',
  leftTopic: '{sender} sait maintenant que vous ne voulez plus recevoir « {topic} ». Vous pouvez fermer cette page.',
  resubscribe: 'Me réabonner',
  resubscribedTitle: 'Vous êtes de nouveau abonné(e)',
  resubscribed: '{sender} peut de nouveau vous envoyer des e-mails de ce genre. Vous pouvez fermer cette page.',
  keptBack:
    'Votre adresse figure pour une autre raison sur une liste de {sender} ; il se peut que vous ne receviez toujours rien. Demandez à {sender} de la retirer.',
  choose: 'Choisir ce que vous recevez',
  preferencesTitle: 'Que voulez-vous recevoir ?',
  preferencesLegend: 'E-mails de {sender} que vous pouvez choisir :',
  preferencesPaused:
    'Vous vous êtes désabonné(e) de tous les e-mails de ce genre. Ce que vous cochez et enregistrez vous sera de nouveau envoyé.',
  noTopics: '{sender} ne propose aucun choix pour le moment.',
  save: 'Enregistrer',
  saved: 'Votre choix est enregistré.',
  goneTitle: 'Cet e-mail n’est plus conservé',
  gone: 'Son contenu a été supprimé. Cherchez-le dans votre messagerie ou demandez à son expéditeur.',
  malformedTitle: 'Cela n’a pas fonctionné',
  malformed:
    'Ce qui a été envoyé à cette adresse n’est pas ce que sa page envoie. Ouvrez de nouveau le lien depuis l’e-mail.',
  laterTitle: 'Impossible pour l’instant',
  later: 'Le service est momentanément indisponible. Réessayez dans une minute.',
  notFoundTitle: 'Ce lien n’est pas valide',
  notFound: 'Il a peut-être été coupé en chemin. Ouvrez-le de nouveau depuis l’e-mail, ou copiez-le en entier.',
  tooManyTitle: 'Trop de demandes',
  tooMany: 'De nombreuses demandes sont venues de votre réseau en une minute. Attendez une minute, puis réessayez.',
  faultTitle: 'Une erreur s’est produite',
  fault: 'L’erreur vient de nous et a été enregistrée. Réessayez plus tard.',
};
