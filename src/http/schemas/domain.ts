import { z } from 'zod';
import { type DkimPair, dkimHost, type RetiredDkimPair } from '../../domain/sending-domain/dkim.ts';
import { type DomainRecords, nextCheckMs, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { RECORD_KINDS, type RecordState } from '../../domain/sending-domain/events.ts';
import { type RecordToPublish, recordsToPublish } from '../../domain/sending-domain/records-to-publish.ts';
import {
  DOMAIN_LIVES,
  type ExistingSendingDomain,
  isVerified,
  lifeOf,
} from '../../domain/sending-domain/sending-domain.ts';
import { timeSchema } from './envelope.ts';

export const recordState = z.enum(['valid', 'missing', 'invalid', 'include_broken', 'unknown'] satisfies RecordState[]);

export const domainRecordSchema = z.strictObject({
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
  checked_at: timeSchema()
    .nullable()
    .describe('When this was first seen to be so, or seen again by somebody who asked.'),
});
type SerializedDomainRecord = z.infer<typeof domainRecordSchema>;

const statusOf = (state: RecordState, capturing: boolean): SerializedDomainRecord['status'] => {
  if (capturing) return 'not_needed';
  return state === 'valid' ? 'verified' : 'pending';
};

export interface RecordCircumstances {
  readonly capturing: boolean;
  readonly records: DomainRecords;
}

export const serializeRecord = (
  { kind, type, host, value, required, advice }: RecordToPublish,
  { capturing, records }: RecordCircumstances,
): SerializedDomainRecord => {
  const noted = records.records.find((record) => record.kind === kind && record.host === host);
  const { state, problem, seen } = noted ?? { state: 'unknown', problem: null, seen: [] };
  const shown = { state, problem, seen, checked_at: noted === undefined ? null : records.checkedAt };
  return { purpose: kind, type, name: host, value, required, status: statusOf(state, capturing), advice, ...shown };
};

export const domainDkimSchema = z.strictObject({
  status: z
    .enum(['pending', 'active', 'retired'])
    .describe('`pending`: waits for its RSA record to be seen. `retired`: signs no more.'),
  hosts: z.array(z.string()),
  signing: z.array(z.string()).describe('Selectors of the keys that sign: their records were seen.'),
  added_at: timeSchema().nullable(),
  activated_at: timeSchema().nullable(),
  safe_to_remove_at: timeSchema()
    .nullable()
    .describe('Until then the records of retired keys are needed: mail under way is verified by them.'),
  removable: z.boolean().describe('Nobody needs these records any more.'),
});
type SerializedDomainDkim = z.infer<typeof domainDkimSchema>;

type Names = (selectors: readonly string[]) => string[];

const serializePair = (pair: DkimPair, status: 'pending' | 'active', hosts: Names): SerializedDomainDkim => ({
  status,
  hosts: hosts(pair.keys.map(({ selector }) => selector)),
  signing: [...pair.signing],
  added_at: pair.addedAt,
  activated_at: pair.activatedAt,
  safe_to_remove_at: null,
  removable: false,
});

const serializeRetired = (pair: RetiredDkimPair, now: string, hosts: Names): SerializedDomainDkim => ({
  status: 'retired',
  hosts: hosts(pair.selectors),
  signing: [],
  added_at: null,
  activated_at: null,
  safe_to_remove_at: pair.safeToRemoveAt,
  removable: now >= pair.safeToRemoveAt,
});

/** Pairs of keys, those that sign first. */
export const serializeDkim = (
  { name, dkim: { active, pending, retired } }: ExistingSendingDomain,
  now: string,
): SerializedDomainDkim[] => {
  const hosts: Names = (selectors) => selectors.map((selector) => dkimHost(name, selector));
  return [
    ...(active === null ? [] : [serializePair(active, 'active', hosts)]),
    ...(pending === null ? [] : [serializePair(pending, 'pending', hosts)]),
    ...retired.map((pair) => serializeRetired(pair, now, hosts)),
  ];
};

export const domainSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('domain'),
    name: z.string(),
    status: z
      .enum(DOMAIN_LIVES)
      .describe(
        '`degraded`: a required record is gone or wrong; it sends until `fails_at`. `failed`: it sends no more until it is verified again.',
      ),
    verification: z
      .strictObject({ method: z.enum(['capture', 'dns']), verified_at: timeSchema() })
      .nullable()
      .describe('null: nothing may be sent from it now.'),
    fails_at: timeSchema().nullable().describe('Of a degraded domain: when it fails unless its records are back.'),
    next_check_at: timeSchema()
      .nullable()
      .describe('When its records are looked at next by itself; null: only when `verify` is asked for.'),
    records: z.array(domainRecordSchema),
    dkim: z.array(domainDkimSchema),
    authentication: z
      .strictObject({ spf: recordState, dkim: recordState, dmarc: recordState })
      .describe('What the DNS said of the domain’s mail when it was last looked at.'),
    created_at: timeSchema(),
  })
  .meta({ id: 'Domain' });
export type SerializedDomain = z.infer<typeof domainSchema>;

export interface DomainCircumstances {
  readonly capturing: boolean;
  readonly bounceDomain: string | null;
  readonly records: DomainRecords;
  readonly now: string;
}

/** What was noted of an earlier registration of the name says nothing of this one. */
const ownRecords = ({ createdAt }: ExistingSendingDomain, records: DomainRecords): DomainRecords =>
  records.checkedAt !== null && records.checkedAt >= createdAt ? records : RECORDS_UNKNOWN;

const nextCheckAt = (domain: ExistingSendingDomain, { capturing, now }: DomainCircumstances): string | null => {
  const next = capturing ? null : nextCheckMs(domain, Date.parse(now));
  return next === null ? null : new Date(next).toISOString();
};

const verificationOf = (domain: ExistingSendingDomain, capturing: boolean): SerializedDomain['verification'] => {
  const { verification } = domain;
  if (verification === null || !isVerified(domain, capturing)) return null;
  return { method: verification.method, verified_at: verification.verifiedAt };
};

export const serializeDomain = (
  domain: ExistingSendingDomain,
  circumstances: DomainCircumstances,
): SerializedDomain => {
  const { capturing, bounceDomain, now } = circumstances;
  const records = ownRecords(domain, circumstances.records);
  const { trouble } = domain;
  const life = lifeOf(domain, capturing);
  const toPublish = recordsToPublish(domain, { bounceDomain });
  return {
    id: domain.domainId,
    object: 'domain',
    name: domain.name,
    status: life,
    verification: verificationOf(domain, capturing),
    fails_at: life === 'degraded' && trouble?.status === 'degraded' ? trouble.failsAt : null,
    next_check_at: nextCheckAt(domain, circumstances),
    records: toPublish.map((record) => serializeRecord(record, { capturing, records })),
    dkim: serializeDkim(domain, now),
    authentication: { spf: records.spf, dkim: records.dkim, dmarc: records.dmarc },
    created_at: domain.createdAt,
  };
};
