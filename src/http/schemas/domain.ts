import { z } from 'zod';
import { nextCheckMs } from '../../domain/sending-domain/check-times.ts';
import { type DomainRecords, RECORDS_UNKNOWN } from '../../domain/sending-domain/domain-records.ts';
import { recordsToPublish } from '../../domain/sending-domain/records-to-publish.ts';
import {
  DOMAIN_LIVES,
  type ExistingSendingDomain,
  isVerified,
  lifeOf,
} from '../../domain/sending-domain/sending-domain.ts';
import { domainDkimShape, showDkim } from './domain-dkim.ts';
import { domainRecordShape, recordState, showRecord } from './domain-record.ts';
import { timeShape } from './time.ts';

export const domainShape = z.strictObject({
  id: z.string(),
  object: z.literal('domain'),
  name: z.string(),
  status: z
    .enum(DOMAIN_LIVES)
    .describe(
      '`degraded`: a required record is gone or wrong; it sends until `fails_at`. `failed`: it sends no more until it is verified again.',
    ),
  verification: z
    .strictObject({ method: z.enum(['capture', 'dns']), verified_at: timeShape() })
    .nullable()
    .describe('null: nothing may be sent from it now.'),
  fails_at: timeShape().nullable().describe('Of a degraded domain: when it fails unless its records are back.'),
  next_check_at: timeShape()
    .nullable()
    .describe('When its records are looked at next by itself; null: only when `verify` is asked for.'),
  records: z.array(domainRecordShape),
  dkim: z.array(domainDkimShape),
  authentication: z
    .strictObject({ spf: recordState, dkim: recordState, dmarc: recordState })
    .describe('What the DNS said of the domain’s mail when it was last looked at.'),
  created_at: timeShape(),
});
export type DomainShape = z.infer<typeof domainShape>;

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

const verificationOf = (domain: ExistingSendingDomain, capturing: boolean): DomainShape['verification'] => {
  const { verification } = domain;
  if (verification === null || !isVerified(domain, capturing)) return null;
  return { method: verification.method, verified_at: verification.verifiedAt };
};

export const showDomain = (domain: ExistingSendingDomain, circumstances: DomainCircumstances): DomainShape => {
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
    records: toPublish.map((record) => showRecord(record, { capturing, records })),
    dkim: showDkim(domain, now),
    authentication: { spf: records.spf, dkim: records.dkim, dmarc: records.dmarc },
    created_at: domain.createdAt,
  };
};
