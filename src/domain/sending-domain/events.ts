import { z } from 'zod';

/** `capture`: nothing leaves the machine, so nothing had to be proved. */
const verificationMethod = z.enum(['capture', 'dns']);
export type VerificationMethod = z.infer<typeof verificationMethod>;

/** The public half of a key that signs mail, and where the other half is. */
const dkimKey = z.object({
  /** A label that no other key of the name ever has. */
  selector: z.string(),
  algorithm: z.enum(['rsa-sha256', 'ed25519-sha256']),
  /** Value of `p=` in its record. */
  publicKey: z.string(),
  /** Vault id of the private key. */
  secretId: z.string(),
});
export type DkimKey = Readonly<z.infer<typeof dkimKey>>;

/** How pages for recipients show the sender. */
const branding = z.object({
  /** null: the domain's name. */
  name: z.string().nullable(),
  /** `#rrggbb`, lower case; null: the colour of the service. */
  color: z.string().nullable(),
  /** https; null: no picture, and nothing is loaded from anywhere. */
  logoUrl: z.string().nullable(),
});
export type Branding = Readonly<z.infer<typeof branding>>;

export const sendingDomainEvents = {
  DomainRegistered: z.object({
    domainId: z.string(),
    /** A-labels, lower case. */
    name: z.string(),
    /** To be published as TXT by the owner of the name. */
    token: z.string(),
    /** Its first keys. */
    dkim: z.array(dkimKey),
  }),
  /** For the first time, or again once lost records are back. */
  DomainVerified: z.object({ domainId: z.string(), name: z.string(), method: verificationMethod }),
  /** A record it needs is gone or wrong. It goes on sending until `failsAt`. */
  DomainDegraded: z.object({
    domainId: z.string(),
    name: z.string(),
    failsAt: z.string(),
    /** Hosts of the records that are gone or wrong. */
    records: z.array(z.string()),
  }),
  /** Nothing came back in time: it sends no more until it is verified again, and others may prove the name. */
  DomainFailed: z.object({ domainId: z.string(), name: z.string() }),
  /** They sign once the first of them is seen in the DNS; in place of keys that waited for that. */
  DkimKeysAdded: z.object({ domainId: z.string(), keys: z.array(dkimKey).min(1) }),
  /** Exactly these sign from now on, all of one pair. */
  DkimKeysActivated: z.object({
    domainId: z.string(),
    selectors: z.array(z.string()).min(1),
    /** Until when the records of the pair before are needed, where another pair takes over. */
    safeToRemoveAt: z.string().nullable(),
  }),
  /** The private halves of keys that sign no more are gone from the vault. */
  DkimKeysDestroyed: z.object({
    domainId: z.string(),
    keys: z.array(z.object({ selector: z.string(), secretId: z.string() })).min(1),
  }),
  /** null: pages for recipients show its name alone, in the colours of the service. */
  DomainBrandingChanged: z.object({ domainId: z.string(), branding: branding.nullable() }),
  /** What is tracked of its mail from now on, unless a message says otherwise. */
  DomainTrackingChanged: z.object({
    domainId: z.string(),
    tracking: z.object({ opens: z.boolean(), clicks: z.boolean() }),
  }),
  /** Ends the keys that are bound to it; the name is free again. */
  DomainDeleted: z.object({ domainId: z.string(), name: z.string() }),
};

/**
 * `unknown`: never looked for, or the resolver did not answer. `include_broken`: of SPF, right in itself, but what the
 * operator of this service has to publish for it is not there or wrong.
 */
const recordState = z.enum(['valid', 'missing', 'invalid', 'include_broken', 'unknown']);
export type RecordState = z.infer<typeof recordState>;

export const RECORD_KINDS = ['ownership', 'dkim', 'return_path', 'tracking', 'spf', 'dmarc'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

const recordSeen = z.object({
  kind: z.enum(RECORD_KINDS),
  host: z.string(),
  state: recordState,
  /** One sentence: what is wrong. */
  problem: z.string().nullable(),
  /** What the DNS answered, without addresses and shortened (`diagnosis/shown-value.ts`). */
  seen: z.array(z.string()),
});
export type RecordSeen = Readonly<z.infer<typeof recordSeen>>;

/** Stream `domainRecords-<domainId>`: what was seen in the DNS, whenever it is not what was seen before. */
export const domainRecordsEvents = {
  DomainRecordsChecked: z.object({
    domainId: z.string(),
    spf: recordState,
    dkim: recordState,
    dmarc: recordState,
    /** Each record by itself. */
    records: z.array(recordSeen),
  }),
};

/** Stream `domainName-<name>`: who has proved that the name is theirs. */
export const domainNameEvents = {
  DomainNameTaken: z.object({ name: z.string(), domainId: z.string(), method: verificationMethod }),
  /** The domain that had proved it no longer can. */
  DomainNameReleased: z.object({ name: z.string(), domainId: z.string() }),
};
