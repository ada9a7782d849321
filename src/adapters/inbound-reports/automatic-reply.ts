import type { MailParts } from './mail-parts.ts';
import { firstField } from './read-fields.ts';

/** Headers that only programs write which answer for people. */
const ANSWERING = ['x-autoreply', 'x-autorespond', 'x-auto-reply', 'x-autoresponder', 'x-mail-autoreply', 'x-vacation'];
const PRECEDENCE = /^(?:auto_reply|auto-reply)$/i;
const SUBJECT =
  /^\s*(?:(?:re|aw|sv):\s*)?(?:auto(?:matic|mated|matische)?[ :-]{0,2}(?:re(?:ply|sponse)|antwort)|out of (?:the )?office|abwesenheit|abwesend|vacation|urlaub|r[ée]ponse automatique|absence|fuera de (?:la )?oficina|respuesta autom[áa]tica|risposta automatica)/i;

/** Somebody's program answers in his place (RFC 3834); delivery reports call themselves automatic too, and are none. */
export const isAnswerOfProgram = ({ headers, subject }: MailParts): boolean =>
  ANSWERING.some((name) => headers.has(name)) ||
  PRECEDENCE.test(firstField(headers, 'precedence') ?? '') ||
  SUBJECT.test(subject);

/** RFC 3834 §5. */
export const isAutomatic = (parts: MailParts): boolean =>
  isAnswerOfProgram(parts) || /^auto-/i.test(firstField(parts.headers, 'auto-submitted') ?? '');
