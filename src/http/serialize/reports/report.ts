import { z } from 'zod';
import type { EventContext } from '../../../domain/ports/event-store.ts';
import { timeSchema } from '../../schemas/envelope.ts';
import { byWhom } from '../explain/explanation.ts';

/**
 * What became of one key or message, for somebody who has never seen this service: a sentence for each event, who did it,
 * and the proof that it is in the log. `report-html`, `report-pdf` and `reportRows` show the same.
 */

export const reportSchema = z
  .strictObject({
    object: z.literal('audit_report'),
    type: z.enum(['api_key', 'message']),
    id: z.string(),
    title: z.string(),
    made_at: timeSchema(),
    facts: z.array(z.strictObject({ name: z.string(), value: z.string() })),
    left_out: z.string().nullable().describe('Which events are not here, and where they are; null: none.'),
    events: z
      .array(
        z.strictObject({
          at: timeSchema(),
          sentence: z.string(),
          by: z.string(),
          address: z
            .string()
            .nullable()
            .describe('Where the request came from; null: it was none, or that is no longer kept.'),
          request_id: z.string().nullable(),
          type: z.string(),
          event_id: z.string(),
          leaf_index: z.number().int().nullable().describe('In the audit log; null: it is not there yet.'),
          proof: z
            .strictObject({
              leaf: z.string().describe('What is hashed: a line of canonical JSON (RFC 8785).'),
              hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3) in `checkpoint`, in base64.'),
            })
            .nullable()
            .describe('null: no checkpoint is about it yet.'),
        }),
      )
      .describe('Oldest first.'),
    checkpoint: z
      .strictObject({
        size: z.number().int(),
        note: z.string().describe('The signed note that the proofs lead to.'),
        verifier_key: z.string(),
        signed_at: timeSchema(),
      })
      .nullable()
      .describe('null: none is signed yet.'),
  })
  .meta({ id: 'AuditReport' });

export type Report = z.infer<typeof reportSchema>;
type ReportedEvent = Report['events'][number];

/** @param last4 of the secret that authenticated; null: none did, or it is not known. */
export const actorSentence = ({ actor, secret, operator }: EventContext, last4: string | null): string => {
  const who = byWhom(actor);
  if (operator !== undefined) return `${who} (${operator.user} at ${operator.host})`;
  if (secret === undefined) return who;
  return `${who}, with its secret number ${secret}${last4 === null ? '' : `, which ends in ${last4}`}`;
};

/** How much of it is proved, in a sentence. */
export const proofSentence = ({ checkpoint, events }: Report): string => {
  if (checkpoint === null) return 'No checkpoint of the log is signed yet: nothing here can be proved so far.';
  const proved = events.filter(({ proof }) => proof !== null).length;
  const all = proved === events.length ? 'all' : `${proved}`;
  return (
    `The log is signed up to its event number ${checkpoint.size}, at ${checkpoint.signed_at}: ${all} of these ` +
    `${events.length} events are proved to be in it.`
  );
};

const COLUMNS = ['at', 'sentence', 'by', 'address', 'request_id', 'type', 'event_id', 'leaf_index'] as const;

/** A table, with its head. */
export const reportRows = ({ events }: Report): readonly (readonly (string | number | null)[])[] => [
  COLUMNS,
  ...events.map((event: ReportedEvent) => COLUMNS.map((column) => event[column])),
];
