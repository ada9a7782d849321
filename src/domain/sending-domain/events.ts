import { z } from 'zod';

/** `capture`: no mail leaves the machine, so no proof was needed. */
const verificationMethod = z.enum(['capture', 'dns']);
export type VerificationMethod = z.infer<typeof verificationMethod>;

/** Public half of a key that signs mail, and a reference to its private half. */
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

/** Presentation of the sender on pages for recipients. */
const branding = z.object({
  /** Null to use the domain's name. */
  name: z.string().nullable(),
  /** `#rrggbb`, lower case; null to use the service's colour. */
  color: z.string().nullable(),
  /** An https URL; null for no picture, so that nothing is loaded from elsewhere. */
  logoUrl: z.string().nullable(),
});
export type Branding = Readonly<z.infer<typeof branding>>;

export const sendingDomainEvents = {
  DomainRegistered: z.object({
    domainId: z.string(),
    /** A-labels, lower case. */
    name: z.string(),
    /** The owner of the name must publish it as TXT. */
    token: z.string(),
    /** Initial keys. */
    dkim: z.array(dkimKey),
  }),
  /** Recorded on the first verification, and again when lost records are back. */
  DomainVerified: z.object({ domainId: z.string(), name: z.string(), method: verificationMethod }),
  /** A required record is missing or wrong. The domain may send until `failsAt`. */
  DomainDegraded: z.object({
    domainId: z.string(),
    name: z.string(),
    failsAt: z.string(),
    /** Hosts of the records that are missing or wrong. */
    records: z.array(z.string()),
  }),
  /**
   * The records were not restored in time. The domain cannot send until it is verified again, and others may prove the
   * name.
   */
  DomainFailed: z.object({ domainId: z.string(), name: z.string() }),
  /** The keys sign once the first of them is seen in the DNS. They replace keys that were waiting for that. */
  DkimKeysAdded: z.object({ domainId: z.string(), keys: z.array(dkimKey).min(1) }),
  /** Only these keys sign from now on. They belong to one pair. */
  DkimKeysActivated: z.object({
    domainId: z.string(),
    selectors: z.array(z.string()).min(1),
    /** Time until which the records of the previous pair are needed, if another pair takes over. */
    safeToRemoveAt: z.string().nullable(),
  }),
  /** The private halves of keys that no longer sign were deleted from the vault. */
  DkimKeysDestroyed: z.object({
    domainId: z.string(),
    keys: z.array(z.object({ selector: z.string(), secretId: z.string() })).min(1),
  }),
  /** Null: pages for recipients show only the domain's name, in the service's colours. */
  DomainBrandingChanged: z.object({ domainId: z.string(), branding: branding.nullable() }),
  /** New default for tracking the domain's mail. Messages can override it. */
  DomainTrackingChanged: z.object({
    domainId: z.string(),
    tracking: z.object({ opens: z.boolean(), clicks: z.boolean() }),
  }),
  /** Mail to addresses of the domain is received, as soon as its MX record leads here. */
  InboundEnabled: z.object({ domainId: z.string() }),
  InboundDisabled: z.object({ domainId: z.string() }),
  /** Ends the keys that are bound to the domain. The name is free again. */
  DomainDeleted: z.object({ domainId: z.string(), name: z.string() }),
};

/**
 * `unknown`: never checked, or the resolver did not answer. `include_broken`: an SPF record that is correct, but
 * includes a record of this service's operator that is missing or wrong.
 */
const recordState = z.enum(['valid', 'missing', 'invalid', 'include_broken', 'unknown']);
export type RecordState = z.infer<typeof recordState>;

export const RECORD_KINDS = ['ownership', 'dkim', 'return_path', 'tracking', 'spf', 'dmarc', 'mx'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

const recordSeen = z.object({
  kind: z.enum(RECORD_KINDS),
  host: z.string(),
  state: recordState,
  /** The problem, in one sentence. */
  problem: z.string().nullable(),
  /** DNS answers, without addresses and shortened (`records-to-publish.ts`). */
  seen: z.array(z.string()),
});
export type SeenRecord = Readonly<z.infer<typeof recordSeen>>;

/** Stream `domainRecords-<domainId>`: DNS checks whose result differs from the previous one. */
export const domainRecordsEvents = {
  DomainRecordsChecked: z.object({
    domainId: z.string(),
    spf: recordState,
    dkim: recordState,
    dmarc: recordState,
    /** State of each record. */
    records: z.array(recordSeen),
  }),
};

/** Stream `domainName-<name>`: the domain that has proved ownership of the name. */
export const domainNameEvents = {
  DomainNameTaken: z.object({ name: z.string(), domainId: z.string(), method: verificationMethod }),
  /** The domain can no longer prove the name. */
  DomainNameReleased: z.object({ name: z.string(), domainId: z.string() }),
};
