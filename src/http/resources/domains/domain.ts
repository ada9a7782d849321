import { z } from 'zod';
import { type DomainRecords, nextCheckMs, RECORDS_UNKNOWN } from '../../../domain/sending-domain/domain-records.ts';
import { RECORD_KINDS, type RecordState } from '../../../domain/sending-domain/events.ts';
import {
  type RecordToPublish,
  recordsToPublish,
  type ServiceHosts,
} from '../../../domain/sending-domain/records-to-publish.ts';
import {
  type DkimPair,
  DOMAIN_LIVES,
  dkimHost,
  type ExistingSendingDomain,
  isVerified,
  lifeOf,
  type RetiredDkimPair,
} from '../../../domain/sending-domain/sending-domain.ts';
import { timeSchema } from '../../fields.ts';

const recordState = z.enum(['valid', 'missing', 'invalid', 'include_broken', 'unknown'] satisfies RecordState[]);

const domainRecordSchema = z.strictObject({
  purpose: z.enum(RECORD_KINDS),
  type: z.enum(['TXT', 'CNAME', 'MX']),
  name: z
    .string()
    .describe('Full host name of the record. If your DNS provider appends the domain, enter only the part before it.'),
  value: z.string().describe('Value to publish.'),
  required: z.boolean().describe('true: the domain is verified only while this record is valid.'),
  status: z
    .enum(['pending', 'verified', 'not_needed'])
    .describe('`not_needed`: mail is captured on this machine, so the record has no effect.'),
  state: recordState.describe(
    'Result of the DNS check. `unknown`: not checked yet, or the DNS did not answer. `include_broken`: your record is correct, but the SPF record that it includes is broken; the operator of this service must repair it.',
  ),
  problem: z.string().nullable().describe('Problem with the record and how to fix it. null: no problem.'),
  advice: z.string().describe('Purpose of the record, and hints for publishing it.'),
  seen: z.array(z.string()).describe('Values found in the DNS, shortened and without mailboxes.'),
  checked_at: timeSchema().nullable().describe('Time when this state was first found, or of the last requested check.'),
});
type SerializedDomainRecord = z.infer<typeof domainRecordSchema>;

const statusOf = (state: RecordState, capturing: boolean): SerializedDomainRecord['status'] => {
  if (capturing) return 'not_needed';
  return state === 'valid' ? 'verified' : 'pending';
};

interface RecordCircumstances {
  readonly capturing: boolean;
  readonly records: DomainRecords;
}

const serializeRecord = (
  { kind, type, host, value, required, advice }: RecordToPublish,
  { capturing, records }: RecordCircumstances,
): SerializedDomainRecord => {
  const noted = records.records.find((record) => record.kind === kind && record.host === host);
  const { state, problem, seen } = noted ?? { state: 'unknown', problem: null, seen: [] };
  const check = { state, problem, seen, checked_at: noted === undefined ? null : records.checkedAt };
  return { purpose: kind, type, name: host, value, required, status: statusOf(state, capturing), advice, ...check };
};

const domainDkimSchema = z.strictObject({
  status: z
    .enum(['pending', 'active', 'retired'])
    .describe(
      '`pending`: its RSA record has not been found in the DNS yet. `active`: signs mail. `retired`: no longer signs.',
    ),
  hosts: z.array(z.string()),
  signing: z.array(z.string()).describe('Selectors of the keys that sign: those whose records were found in the DNS.'),
  added_at: timeSchema().nullable(),
  activated_at: timeSchema().nullable(),
  safe_to_remove_at: timeSchema()
    .nullable()
    .describe('Keep the records of retired keys until then: receivers verify mail in transit with them.'),
  removable: z.boolean().describe('true: you can remove these records now.'),
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

/** DKIM key pairs, those that sign first. */
const serializeDkim = (
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

export const trackingSchema = z.strictObject({
  opens: z
    .boolean()
    .describe('true: add an invisible image to the html. Loading it creates the event `message.opened`.'),
  clicks: z
    .boolean()
    .describe('true: route links in the html through this service. Following one creates the event `message.clicked`.'),
});

export const inboundSchema = z
  .strictObject({
    mx: z
      .boolean()
      .describe(
        'true: mail to addresses of the domain is received here. Publish its MX record, which is then among `records`. The service must have a `BOUNCE_DOMAIN`.',
      ),
  })
  .describe('Receiving mail that people send to the domain.');

export const domainSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('domain'),
    name: z.string(),
    status: z
      .enum(DOMAIN_LIVES)
      .describe(
        '`degraded`: a required record is missing or wrong. The domain can still send until `fails_at`. `failed`: the ' +
          'domain cannot send until it is verified again.',
      ),
    verification: z
      .strictObject({ method: z.enum(['capture', 'dns']), verified_at: timeSchema() })
      .nullable()
      .describe('How and when the domain was verified. null: the domain cannot send.'),
    fails_at: timeSchema()
      .nullable()
      .describe('Time when a degraded domain fails unless its records are correct again.'),
    next_check_at: timeSchema()
      .nullable()
      .describe('Time of the next automatic check. null: the domain is checked only when you call `verify`.'),
    records: z.array(domainRecordSchema),
    dkim: z.array(domainDkimSchema),
    authentication: z
      .strictObject({ spf: recordState, dkim: recordState, dmarc: recordState })
      .describe('Results of the last DNS check.'),
    branding: z
      .strictObject({ name: z.string().nullable(), color: z.string().nullable(), logo_url: z.string().nullable() })
      .nullable()
      .describe('How the sender appears on recipient pages. null: by the name of the domain.'),
    tracking: trackingSchema.describe('Default tracking of mail from this domain. A message can override it.'),
    inbound: inboundSchema,
    created_at: timeSchema(),
  })
  .meta({ id: 'Domain' });
export type SerializedDomain = z.infer<typeof domainSchema>;

interface DomainCircumstances extends ServiceHosts {
  readonly capturing: boolean;
  readonly records: DomainRecords;
  readonly now: string;
}

/** Ignores records checked for an earlier registration of the name. */
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

const serializeBranding = ({ branding }: ExistingSendingDomain): SerializedDomain['branding'] =>
  branding === null ? null : { name: branding.name, color: branding.color, logo_url: branding.logoUrl };

export const serializeDomain = (
  domain: ExistingSendingDomain,
  circumstances: DomainCircumstances,
): SerializedDomain => {
  const { capturing, now } = circumstances;
  const records = ownRecords(domain, circumstances.records);
  const { trouble } = domain;
  const life = lifeOf(domain, capturing);
  const toPublish = recordsToPublish(domain, circumstances);
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
    branding: serializeBranding(domain),
    tracking: { ...domain.tracking },
    inbound: { ...domain.inbound },
    created_at: domain.createdAt,
  };
};
