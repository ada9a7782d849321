import { z } from 'zod';

/** A signing key: its public half, and the vault id of its private half. */
const key = { vkey: z.string(), secretId: z.string() };

export const auditEvents = {
  /** The first key fixes the origin of the tree's checkpoints for good. A later key replaces the previous one. */
  AuditKeyAdded: z.object({ organizationId: z.string(), origin: z.string(), ...key }),
  /** The key no longer signs checkpoints. */
  AuditKeyRetired: z.object({ organizationId: z.string(), vkey: z.string() }),
  /**
   * The first `size` leaves of the tree have this root (base64). It includes the key, so that the stream's last event
   * is complete.
   */
  CheckpointSigned: z.object({
    organizationId: z.string(),
    origin: z.string(),
    size: z.number().int(),
    root: z.string(),
    /** The signed note (C2SP signed-note) as published. */
    note: z.string(),
    ...key,
  }),
  /** Witnesses cosigned a checkpoint. */
  CheckpointCosigned: z.object({
    organizationId: z.string(),
    origin: z.string(),
    size: z.number().int(),
    /** Lines of a signed note (C2SP tlog-cosignature), without line feeds. */
    lines: z.array(z.string()),
  }),
  /** A witness has cosigned leaves of this origin that the log does not contain. Signing stops. */
  AuditDisputed: z.object({
    organizationId: z.string(),
    origin: z.string(),
    /** Size of the checkpoint presented to the witness. */
    size: z.number().int(),
    /** The witness's name and the number of leaves that it has cosigned. */
    witness: z.string(),
    cosignedSize: z.number().int(),
  }),
  /** The log continues under another origin. Leaves signed under the previous origin may be missing from it. */
  AuditReopened: z.object({
    organizationId: z.string(),
    origin: z.string(),
    previousOrigin: z.string(),
    /** The last checkpoint whose leaves the log still has. */
    previous: z.string(),
    reason: z.string(),
  }),
  /**
   * Events before this one need no proof that this service wrote them: it is about all trees, and in the service's own. The
   * first start of a version that writes such proofs adopts the events of older ones; later an operator, with a reason.
   */
  EarlierEventsAdopted: z.object({ reason: z.string() }),
  /** Leaves were exported. */
  AuditExported: z.object({ organizationId: z.string(), from: z.number().int(), to: z.number().int() }),
};

/** Separate from the tree's stream, which has a checkpoint each minute. Tokens are looked up in memory. */
export const auditorEvents = {
  AuditorAdded: z.object({
    auditorId: z.string(),
    /** Id of the content with name and e-mail address. */
    contactId: z.string(),
    /** Whether contents of mail are disclosed too. */
    contents: z.boolean(),
    expiresAt: z.string(),
    /** Networks from which the token may be used, copied from the key that added the auditor. Empty: any. */
    allowedCidrs: z.array(z.string()),
    /** SHA-256 of the token, in hex. The token itself is not stored. */
    secret: z.object({ hash: z.string().length(64), last4: z.string() }),
  }),
  AuditorRemoved: z.object({ auditorId: z.string() }),
};

/** Reads that may reveal personal data and are therefore recorded. */
export const READINGS = ['message_content', 'inbound_content', 'captured_mail', 'suppressions', 'addresses'] as const;

export const readingEvents = {
  /** The reader and `originId`, the client, are in the event's context. `percent` is the share of such reads that was recorded at that time. */
  DataRead: z.object({
    organizationId: z.string(),
    what: z.enum(READINGS),
    /** Null if all of them were read. The route, such as `GET /v1/messages`, of `addresses` that a list or page showed. */
    subjectId: z.string().nullable(),
    percent: z.number(),
  }),
};
