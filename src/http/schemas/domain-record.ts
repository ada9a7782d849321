import { z } from 'zod';
import type { DomainRecords } from '../../domain/sending-domain/domain-records.ts';
import { RECORD_KINDS, type RecordState } from '../../domain/sending-domain/events.ts';
import type { RecordToPublish } from '../../domain/sending-domain/records-to-publish.ts';
import { timeShape } from './time.ts';

export const recordState = z.enum(['valid', 'missing', 'invalid', 'include_broken', 'unknown'] satisfies RecordState[]);

export const domainRecordShape = z.strictObject({
  purpose: z.enum(RECORD_KINDS),
  type: z.enum(['TXT', 'CNAME']),
  name: z.string().describe('The host, whole: some forms append the domain by themselves.'),
  value: z.string(),
  required: z.boolean().describe('Without it the domain is not verified, or does not stay so.'),
  status: z.enum(['pending', 'verified', 'not_needed']).describe('`not_needed`: mail is captured, and leaves nobody.'),
  state: recordState.describe(
    'What the DNS said; `unknown`: nobody has looked, or the DNS did not answer; `include_broken`: it is right, but the operator of this service has to mend the SPF record of the name that it includes.',
  ),
  problem: z.string().nullable().describe('What is wrong with it, in a sentence.'),
  advice: z.string().describe('What it is for, and what to mind.'),
  seen: z.array(z.string()).describe('What the DNS answered, shortened and without mailboxes.'),
  checked_at: timeShape()
    .nullable()
    .describe('When this was first seen to be so, or seen again by somebody who asked.'),
});
type DomainRecordShape = z.infer<typeof domainRecordShape>;

const statusOf = (state: RecordState, capturing: boolean): DomainRecordShape['status'] => {
  if (capturing) return 'not_needed';
  return state === 'valid' ? 'verified' : 'pending';
};

export interface RecordCircumstances {
  readonly capturing: boolean;
  readonly records: DomainRecords;
}

export const showRecord = (
  { kind, type, host, value, required, advice }: RecordToPublish,
  { capturing, records }: RecordCircumstances,
): DomainRecordShape => {
  const noted = records.records.find((record) => record.kind === kind && record.host === host);
  const { state, problem, seen } = noted ?? { state: 'unknown', problem: null, seen: [] };
  const shown = { state, problem, seen, checked_at: noted === undefined ? null : records.checkedAt };
  return { purpose: kind, type, name: host, value, required, status: statusOf(state, capturing), advice, ...shown };
};
