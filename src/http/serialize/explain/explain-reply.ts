import type { ReplyStage } from '../../../domain/ports/mail-transport.ts';
import type { TlsPolicy } from '../../../lib/smtp/smtp.ts';
import type { SerializedSmtp } from '../../../projections/events/serialize-events.ts';
import { atTime, type View } from './explanation.ts';

/** Describes a mail server's reply, its time and the security of the connection in words. */

const WHERE: Readonly<Record<ReplyStage, string>> = {
  connect: 'on connecting',
  session: 'before the message was offered',
  mail: 'when given the sender',
  recipient: 'when given the recipient',
  content: 'after receiving the message',
};

const HELD_TO: Readonly<Record<TlsPolicy, string>> = {
  opportunistic: 'encrypted (opportunistic TLS)',
  required: 'encrypted, as the settings of this service require',
  'mta-sts': 'encrypted and its certificate checked, as the policy of its domain requires (MTA-STS)',
  dane: 'encrypted and its certificate checked, as its DNS requires (DANE)',
};

/** Longer replies are whole among the facts; here they would hide the sentence. */
const QUOTED_MAX = 200;

const quoted = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `"${line.length > QUOTED_MAX ? `${line.slice(0, QUOTED_MAX)}…` : line}"`;
};

/** `451 4.7.1 "Try again later"`; the text only while it is kept. */
export const saidOf = ({ code, enhanced, text }: SerializedSmtp): string =>
  [...(code === 0 ? [] : [String(code)]), enhanced, text === null ? null : quoted(text)]
    .filter((part) => part !== null)
    .join(' ');

/** The same behind a colon, where there is anything. */
export const quoteOf = (smtp: SerializedSmtp): string => {
  const said = saidOf(smtp);
  return said === '' ? '' : `: ${said}`;
};

/** The server that replied. In the test environment nothing is sent, so it is the simulation. */
export const speakerOf = ({ message }: View, { mx, address }: SerializedSmtp): string => {
  if (message.environment === 'test') return 'The simulation of the test environment';
  if (mx === null) return 'The mail server';
  return address === null || address === mx ? mx : `${mx} (${address})`;
};

export const whereOf = ({ stage }: SerializedSmtp): string => (stage === null ? '' : ` ${WHERE[stage]}`);

/** How the connection was secured, as a sentence; nothing where there was none. */
export const securityOf = ({ message }: View, { code, tls, cipher, policy }: SerializedSmtp): string => {
  if (message.environment === 'test' || code === 0) return '';
  if (tls === null) return ' The connection was not encrypted.';
  const how = policy === null ? 'encrypted' : HELD_TO[policy];
  return ` The connection was ${how}, by ${cipher === null ? tls : `${tls} with ${cipher}`}.`;
};

/** The next step after a wait. */
export const nextOf = (nextAttemptAt: string, expiresAt: string): string =>
  nextAttemptAt < expiresAt
    ? `It is tried again at ${atTime(nextAttemptAt)}.`
    : `It expires at ${atTime(expiresAt)}, before another attempt.`;
