import { z } from 'zod';
import type { DomainRecords } from '../../domain/sending-domain/domain-records.ts';
import type { RecordState } from '../../domain/sending-domain/events.ts';
import {
  type ExistingSendingDomain,
  isVerified,
  verificationRecord,
} from '../../domain/sending-domain/sending-domain.ts';
import { timeShape } from './time-shape.ts';

const recordState = z.enum(['valid', 'missing', 'invalid', 'unknown'] satisfies RecordState[]);

export const domainShape = z.strictObject({
  id: z.string(),
  object: z.literal('domain'),
  name: z.string(),
  status: z.enum(['pending', 'verified']),
  verification: z.strictObject({ method: z.enum(['capture', 'dns']), verified_at: timeShape() }).nullable(),
  records: z.array(
    z.strictObject({
      purpose: z.enum(['ownership']),
      type: z.literal('TXT'),
      name: z.string(),
      value: z.string(),
      status: z.enum(['pending', 'verified', 'not_needed']),
    }),
  ),
  authentication: z
    .strictObject({ spf: recordState, dkim: recordState, dmarc: recordState })
    .describe('What the DNS said of the domain’s mail when it was last asked to verify.'),
  created_at: timeShape(),
});
export type DomainShape = z.infer<typeof domainShape>;

const recordStatus = (verification: DomainShape['verification']): DomainShape['records'][number]['status'] => {
  if (verification === null) return 'pending';
  return verification.method === 'dns' ? 'verified' : 'not_needed';
};

export interface DomainCircumstances extends DomainRecords {
  readonly capturing: boolean;
}

export const showDomain = (
  domain: ExistingSendingDomain,
  { capturing, spf, dkim, dmarc }: DomainCircumstances,
): DomainShape => {
  const { host, value } = verificationRecord(domain);
  const counts = domain.verification !== null && isVerified(domain, capturing) ? domain.verification : null;
  const verification = counts === null ? null : { method: counts.method, verified_at: counts.verifiedAt };
  return {
    id: domain.domainId,
    object: 'domain',
    name: domain.name,
    status: verification === null ? 'pending' : 'verified',
    verification,
    records: [{ purpose: 'ownership', type: 'TXT', name: host, value, status: recordStatus(verification) }],
    authentication: { spf, dkim, dmarc },
    created_at: domain.createdAt,
  };
};
