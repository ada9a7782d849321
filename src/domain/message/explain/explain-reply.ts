import type { ReplyStage, TlsPolicy } from '../../mail-transport.ts';
import type { ShownSmtp } from '../../shown-event.ts';
import type { View } from './view.ts';

const WHERE: Readonly<Record<ReplyStage, string>> = {
  connect: 'when it was to be connected to',
  session: 'before any mail was offered to it',
  mail: 'when it was told who the sender is',
  recipient: 'when it was told who the recipient is',
  content: 'when it had been given the message',
};

const HELD_TO: Readonly<Record<TlsPolicy, string>> = {
  opportunistic: 'encrypted because it offers that',
  required: 'encrypted, as the settings of this service demand',
  'mta-sts': 'encrypted and its certificate checked, as the policy of its domain demands (MTA-STS)',
  dane: 'encrypted and its certificate checked, as its DNS demands (DANE)',
};

/** Longer replies are whole among the facts; here they would hide the sentence. */
const QUOTED_MAX = 200;

const quoted = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `"${line.length > QUOTED_MAX ? `${line.slice(0, QUOTED_MAX)}…` : line}"`;
};

/** `451 4.7.1 "Try again later"`; the text only while it is kept. */
export const saidOf = ({ code, enhanced, text }: ShownSmtp): string =>
  [...(code === 0 ? [] : [String(code)]), enhanced, text === null ? null : quoted(text)]
    .filter((part) => part !== null)
    .join(' ');

/** The same behind a colon, where there is anything. */
export const quoteOf = (smtp: ShownSmtp): string => {
  const said = saidOf(smtp);
  return said === '' ? '' : `: ${said}`;
};

/** Who spoke: nothing leaves in the test environment. */
export const speakerOf = ({ message }: View, { mx, address }: ShownSmtp): string => {
  if (message.environment === 'test') return 'The simulation of the test environment';
  if (mx === null) return 'The other side';
  return address === null || address === mx ? mx : `${mx} (${address})`;
};

export const whereOf = ({ stage }: ShownSmtp): string => (stage === null ? '' : ` ${WHERE[stage]}`);

/** How the connection was secured, as a sentence; nothing where there was none. */
export const securityOf = ({ message }: View, { code, tls, cipher, policy }: ShownSmtp): string => {
  if (message.environment === 'test' || code === 0) return '';
  if (tls === null) return ' The connection was not encrypted.';
  const how = policy === null ? 'encrypted' : HELD_TO[policy];
  return ` The connection was ${how}, by ${cipher === null ? tls : `${tls} with ${cipher}`}.`;
};
