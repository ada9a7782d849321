import { linkTo } from './location.ts';

/** Where typed or pasted text leads, by what it looks like: nothing is asked of the service for it. */

export interface Found {
  readonly words: string;
  /** Set apart: what was typed. */
  readonly text: string;
  readonly href: string;
}

const ID = '[a-z2-7]{26}';
const ANY_TIME = { period: 'all' };

const messagesBy =
  (words: string, filter: string) =>
  (text: string): Found => ({
    words,
    text,
    href: linkTo('/messages', { [filter]: text, ...ANY_TIME }),
  });
const thing =
  (words: string, path: string) =>
  (text: string): Found => ({ words, text, href: linkTo(`${path}/${text}`) });

const SHAPES: readonly (readonly [RegExp, (text: string) => Found])[] = [
  [new RegExp(`^msg_${ID}$`), thing('Message', '/messages')],
  [new RegExp(`^key_${ID}$`), thing('API key', '/keys')],
  [new RegExp(`^dom_${ID}$`), thing('Domain', '/domains')],
  [new RegExp(`^tpl_${ID}$`), thing('Template', '/templates')],
  [new RegExp(`^whk_${ID}$`), thing('Webhook', '/webhooks')],
  [/^req_[0-9a-f]{32}$/, messagesBy('Messages of request', 'request_id')],
  [new RegExp(`^<?msg_${ID}@\\S+>?$`), messagesBy('Message with Message-ID', 'message_id')],
  [/^[2-5]\d\d(?: [245]\.\d{1,3}\.\d{1,3})?$|^[245]\.\d{1,3}\.\d{1,3}$/, messagesBy('Refused with', 'smtp_code')],
  [/^[^\s@]+@[^\s@]+$/, messagesBy('Messages to', 'to')],
  [/^[^\s@]+@[^\s@]+$/, messagesBy('Messages from', 'from')],
  [/^[^\s@]+\.[a-z][^\s@.]+$/i, messagesBy('Messages to anybody at', 'recipient_domain')],
];

/** Best first. Text that looks like nothing may be a subject. */
export const resolve = (typed: string): readonly Found[] => {
  const text = typed.trim();
  if (text === '') return [];
  const found = SHAPES.filter(([shape]) => shape.test(text)).map(([, make]) => make(text));
  return found.length > 0 ? found : [messagesBy('Messages with the subject', 'subject')(text)];
};
