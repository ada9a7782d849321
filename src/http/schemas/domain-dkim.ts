import { z } from 'zod';
import { type DkimPair, dkimHost, type RetiredDkimPair } from '../../domain/sending-domain/dkim.ts';
import type { ExistingSendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { timeShape } from './time.ts';

export const domainDkimShape = z.strictObject({
  status: z
    .enum(['pending', 'active', 'retired'])
    .describe('`pending`: waits for its RSA record to be seen. `retired`: signs no more.'),
  hosts: z.array(z.string()),
  signing: z.array(z.string()).describe('Selectors of the keys that sign: their records were seen.'),
  added_at: timeShape().nullable(),
  activated_at: timeShape().nullable(),
  safe_to_remove_at: timeShape()
    .nullable()
    .describe('Until then the records of retired keys are needed: mail under way is verified by them.'),
  removable: z.boolean().describe('Nobody needs these records any more.'),
});
type DomainDkimShape = z.infer<typeof domainDkimShape>;

type Names = (selectors: readonly string[]) => string[];

const showPair = (pair: DkimPair, status: 'pending' | 'active', hosts: Names): DomainDkimShape => ({
  status,
  hosts: hosts(pair.keys.map(({ selector }) => selector)),
  signing: [...pair.signing],
  ...{ added_at: pair.addedAt, activated_at: pair.activatedAt, safe_to_remove_at: null, removable: false },
});

const showRetired = (pair: RetiredDkimPair, now: string, hosts: Names): DomainDkimShape => ({
  ...{ status: 'retired', hosts: hosts(pair.selectors), signing: [], added_at: null, activated_at: null },
  ...{ safe_to_remove_at: pair.safeToRemoveAt, removable: now >= pair.safeToRemoveAt },
});

/** Pairs of keys, those that sign first. */
export const showDkim = (
  { name, dkim: { active, pending, retired } }: ExistingSendingDomain,
  now: string,
): DomainDkimShape[] => {
  const hosts: Names = (selectors) => selectors.map((selector) => dkimHost(name, selector));
  return [
    ...(active === null ? [] : [showPair(active, 'active', hosts)]),
    ...(pending === null ? [] : [showPair(pending, 'pending', hosts)]),
    ...retired.map((pair) => showRetired(pair, now, hosts)),
  ];
};
