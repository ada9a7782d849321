import { z } from 'zod';
import {
  type ExistingSendingDomain,
  isVerified,
  verificationRecord,
} from '../../domain/sending-domain/sending-domain.ts';
import { timeShape } from './time-shape.ts';

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
  created_at: timeShape(),
});
export type DomainShape = z.infer<typeof domainShape>;

const recordStatus = (verification: DomainShape['verification']): DomainShape['records'][number]['status'] => {
  if (verification === null) return 'pending';
  return verification.method === 'dns' ? 'verified' : 'not_needed';
};

export const showDomain = (domain: ExistingSendingDomain, capturing: boolean): DomainShape => {
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
    created_at: domain.createdAt,
  };
};
