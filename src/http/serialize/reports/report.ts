import { z } from 'zod';
import type { EventContext } from '../../../domain/kernel/event-store.ts';
import { timeSchema } from '../../schemas/envelope.ts';
import { byWhom, type People } from '../explain/explain-actor.ts';
import { atTime } from '../explain/explanation.ts';

/**
 * The history of one key or message, for readers who do not know this service: a sentence for each event, its actor, and
 * the proof that it is in the log. `report-html`, `report-pdf` and `reportRows` show the same.
 */

export const reportSchema = z
  .strictObject({
    object: z.literal('audit_report'),
    type: z.enum(['api_key', 'message']),
    id: z.string(),
    title: z.string(),
    made_at: timeSchema(),
    facts: z.array(z.strictObject({ name: z.string(), value: z.string() })),
    sends: z
      .array(
        z.strictObject({
          secret: z.number().int().describe('Number of the secret among those of the key, from 1.'),
          last4: z.string(),
          messages: z.number().int().describe('Messages accepted with it.'),
          recipients: z.number().int().describe('Recipients of those messages.'),
          first_at: timeSchema().nullable(),
          last_at: timeSchema().nullable(),
        }),
      )
      .describe('For a key: messages sent so far with each of its last 100 secrets, newest first.'),
    left_out: z.string().nullable().describe('Events that are omitted, and where to find them; null: none.'),
    events: z
      .array(
        z.strictObject({
          at: timeSchema(),
          sentence: z.string(),
          by: z.string(),
          address: z
            .string()
            .nullable()
            .describe('IP address of the request; null: there was no request, or its address is no longer stored.'),
          request_id: z.string().nullable(),
          type: z.string(),
          event_id: z.string(),
          leaf_index: z.number().int().nullable().describe('Index in the audit log; null: not in it yet.'),
          proof: z
            .strictObject({
              leaf: z.string().describe('The hashed data: a line of canonical JSON (RFC 8785).'),
              hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3) in `checkpoint`, in base64.'),
            })
            .nullable()
            .describe('null: no checkpoint covers it yet.'),
        }),
      )
      .describe('Oldest first.'),
    checkpoint: z
      .strictObject({
        size: z.number().int(),
        note: z.string().describe('The signed note that the proofs refer to.'),
        verifier_key: z.string(),
        signed_at: timeSchema(),
      })
      .nullable()
      .describe('null: not signed yet.'),
  })
  .meta({ id: 'AuditReport' });

export type Report = z.infer<typeof reportSchema>;

/** @param last4 of the secret that authenticated; null: none did, or it is not known. */
export const actorSentence = (
  { actor, secret, operator }: EventContext,
  { last4, people }: { readonly last4: string | null; readonly people: People },
): string => {
  const who = byWhom(actor, people);
  if (operator !== undefined) return `${who} (${operator.user} at ${operator.host})`;
  if (secret === undefined) return who;
  return `${who}, with its secret number ${secret}${last4 === null ? '' : `, which ends in ${last4}`}`;
};

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Describes the messages sent with a secret in a sentence. */
export const sendSentence = ({ secret, last4, messages, recipients, ...at }: Report['sends'][number]): string => {
  const name = `Secret number ${secret}, which ends in ${last4},`;
  if (at.first_at === null || at.last_at === null) return `${name} sent nothing.`;
  return (
    `${name} sent ${counted(messages, 'message')} to ${counted(recipients, 'recipient')}: the first at ` +
    `${atTime(at.first_at)}, the last at ${atTime(at.last_at)}.`
  );
};

const ABOUT = {
  api_key:
    'A program that sends mail is known by its API key, of which it shows a secret. A rotation gives the key another ' +
    'secret. The service keeps only a digest of each, and its last four characters.',
  message: 'The service takes a message from a program and hands it to the mail servers of its recipients.',
} satisfies Record<Report['type'], string>;

/** Introduction for readers who do not know this service. */
export const aboutReport = ({ type }: Report): string =>
  `${ABOUT[type]} All that happens is an event in a log that is only added to; its events are numbered from 0.`;

/** How much of it is proved. */
export const proofSentence = ({ checkpoint, events }: Report): string => {
  if (checkpoint === null) return 'Nothing of the log is signed yet, so that nothing here can be proved so far.';
  const proved = events.filter(({ proof }) => proof !== null).length;
  const all = proved === events.length ? 'all events' : `${proved} of the ${events.length} events`;
  return (
    `The first ${checkpoint.size} events of the log were signed at ${atTime(checkpoint.signed_at)}, and ${all} of this ` +
    'report are proved to be among them. The proofs are worth as much as the key that signed: compare it with the one ' +
    'that you were given at the beginning, and not together with this report.'
  );
};

const COLUMNS = ['at', 'sentence', 'by', 'address', 'request_id', 'type', 'event_id', 'leaf_index'] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number], string | number | null>>;

const NOT_AN_EVENT = { by: null, address: null, request_id: null, event_id: null, leaf_index: null };

/** A table, with its head: events, and behind them what was sent. */
export const reportRows = ({ events, sends }: Report): readonly (readonly (string | number | null)[])[] => {
  const sent = sends.map((each): Row => {
    const sentence = sendSentence(each);
    return { ...NOT_AN_EVENT, at: each.last_at, sentence, type: 'sends' };
  });
  const rows: readonly Row[] = [...events, ...sent];
  return [COLUMNS, ...rows.map((row) => COLUMNS.map((column) => row[column]))];
};
