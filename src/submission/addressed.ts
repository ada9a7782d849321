import { canonicalAddress, parseMailbox } from '../domain/email-address.ts';
import type { Mailbox, ShownRecipients } from '../domain/ports/contents.ts';
import type { ParsedMail, WrittenAddress } from '../domain/ports/mail-parser.ts';
import type { Problem } from '../http/validation/wording.ts';

/** Who gets a message, in the words of a send's body, and who is seen to. */
export interface Addressed {
  readonly to?: readonly string[];
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  /** `To` and `Cc` as written, where they name others than those who get it. */
  readonly shown?: ShownRecipients;
}

/** All of them travel with the message; a thread of a hundred people is one for a list. */
const SHOWN_MAX = 100;

/** One address as a send's body has it; a quoted name cannot be taken for anything else. */
export const addressText = ({ name, address }: Mailbox): string =>
  name === undefined || name === '' ? address : `"${name.replace(/[\\"]/g, '\\$&')}" <${address}>`;

/** An address that can be written as it stands, though no mail goes there from here: `root@server`. */
const PLAIN_ADDRESS = /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@[\w.-]{1,253}$/;
/** What fits on a line, and nothing that could end it. */
const SHOWN_TEXT = /^\P{Cc}{1,256}$/u;

/** What is shown need not be where mail goes: the envelope says that. @returns the reason why it cannot be shown. */
const readShown = (one: WrittenAddress): Mailbox | string => {
  const parsed = parseMailbox(addressText(one));
  if (typeof parsed !== 'string') return parsed;
  const text = one.address === '' ? one.name : addressText(one);
  if (!SHOWN_TEXT.test(text)) return parsed;
  return PLAIN_ADDRESS.test(one.address) ? one : { address: '', name: text };
};

const readAll = (field: 'To' | 'Cc', written: readonly WrittenAddress[], problems: Problem[]): readonly Mailbox[] =>
  written.flatMap((one, index) => {
    const shown = readShown(one);
    if (typeof shown !== 'string') return [shown];
    problems.push([field.toLowerCase(), `${field}[${index}] is not an email address: ${shown}`]);
    return [];
  });

/**
 * The envelope says who gets a message, its header who is seen to: a recipient named in `To` or `Cc` is of that kind,
 * any other is a blind copy. Programs that send each recipient a copy of his own leave the same header in all of them:
 * it stays as it is written.
 * @param envelope addresses, as parsed, each once.
 */
export const addressed = (
  { to, cc }: Pick<ParsedMail, 'to' | 'cc'>,
  envelope: readonly string[],
): Addressed & { readonly problems: readonly Problem[] } => {
  if (to.length + cc.length > SHOWN_MAX) {
    return { problems: [['to', `To and Cc must have at most ${SHOWN_MAX} addresses together`]] };
  }
  const problems: Problem[] = [];
  const shown = { to: readAll('To', to, problems), cc: readAll('Cc', cc, problems) };
  const left = new Map(envelope.map((address) => [canonicalAddress(address), address]));
  let others = 0;
  const take = (mailboxes: readonly Mailbox[]): readonly string[] =>
    mailboxes.flatMap((one) => {
      const address = left.get(canonicalAddress(one.address));
      if (address === undefined) others += 1;
      left.delete(canonicalAddress(one.address));
      return address === undefined ? [] : [addressText({ ...one, address })];
    });
  const kinds = { to: take(shown.to), cc: take(shown.cc), bcc: [...left.values()] };
  return {
    ...Object.fromEntries(Object.entries(kinds).filter(([, texts]) => texts.length > 0)),
    ...(others === 0 ? {} : { shown }),
    problems,
  };
};
