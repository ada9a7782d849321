import type { Sentences } from './en.ts';

export const es: Sentences = {
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
};
