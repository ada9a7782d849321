import { z } from 'zod';

/** `capture`: nothing leaves the machine, so nothing had to be proved. */
const verificationMethod = z.enum(['capture', 'dns']);
export type VerificationMethod = z.infer<typeof verificationMethod>;

export const sendingDomainEvents = {
  DomainRegistered: z.object({
    domainId: z.string(),
    /** A-labels, lower case. */
    name: z.string(),
    /** To be published as TXT by whoever owns the name. */
    token: z.string(),
  }),
  DomainVerified: z.object({ domainId: z.string(), name: z.string(), method: verificationMethod }),
};

/** Stream `domainName-<name>`: who has proved that the name is theirs. */
export const domainNameEvents = {
  DomainNameTaken: z.object({ name: z.string(), domainId: z.string(), method: verificationMethod }),
};
