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
  /** Ends the keys that are bound to it; the name is free again. */
  DomainDeleted: z.object({ domainId: z.string(), name: z.string() }),
};

/** `unknown`: never looked for, or the resolver did not answer. */
const recordState = z.enum(['valid', 'missing', 'invalid', 'unknown']);
export type RecordState = z.infer<typeof recordState>;

/** Stream `domainRecords-<domainId>`: what was seen in the DNS, whenever it is not what was seen before. */
export const domainRecordsEvents = {
  DomainRecordsChecked: z.object({ domainId: z.string(), spf: recordState, dkim: recordState, dmarc: recordState }),
};

/** Stream `domainName-<name>`: who has proved that the name is theirs. */
export const domainNameEvents = {
  DomainNameTaken: z.object({ name: z.string(), domainId: z.string(), method: verificationMethod }),
};
