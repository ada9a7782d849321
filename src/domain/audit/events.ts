import { z } from 'zod';

/** A signing key, in public and where its private half is in the vault. */
const key = { vkey: z.string(), secretId: z.string() };

export const auditEvents = {
  /** The first fixes the origin of the tree's checkpoints for good. A later one replaces the key before it. */
  AuditKeyAdded: z.object({ organizationId: z.string(), origin: z.string(), ...key }),
  /** Checkpoints are not signed by it any more. */
  AuditKeyRetired: z.object({ organizationId: z.string(), vkey: z.string() }),
  /** The first `size` leaves of the tree have this root (base64). It names the key, so that the stream's end says all. */
  CheckpointSigned: z.object({
    organizationId: z.string(),
    origin: z.string(),
    size: z.number().int(),
    root: z.string(),
    /** The signed note (C2SP signed-note), as it is published. */
    note: z.string(),
    ...key,
  }),
  /** Witnesses have cosigned what was signed. */
  CheckpointCosigned: z.object({
    organizationId: z.string(),
    origin: z.string(),
    size: z.number().int(),
    /** Of a signed note (C2SP tlog-cosignature), without their line feeds. */
    lines: z.array(z.string()),
  }),
  /** A witness has cosigned leaves of this origin that the log does not continue. Nothing is signed any more. */
  AuditDisputed: z.object({
    organizationId: z.string(),
    origin: z.string(),
    /** Of the checkpoint that it was shown. */
    size: z.number().int(),
    /** Its name, and how many leaves it has cosigned. */
    witness: z.string(),
    cosignedSize: z.number().int(),
  }),
  /** The log goes on under another origin. What was signed of the one before may not be in it. */
  AuditReopened: z.object({
    organizationId: z.string(),
    origin: z.string(),
    previousOrigin: z.string(),
    /** The last checkpoint that the log still has. */
    previous: z.string(),
    reason: z.string(),
  }),
  /** Somebody has taken leaves out. */
  AuditExported: z.object({ organizationId: z.string(), from: z.number().int(), to: z.number().int() }),
};

/** Beside the stream of the tree: that one has a checkpoint each minute, and tokens are looked up in memory. */
export const auditorEvents = {
  AuditorAdded: z.object({
    auditorId: z.string(),
    /** The content that holds name and e-mail address. */
    contactId: z.string(),
    /** Whether contents of mail are disclosed too. */
    contents: z.boolean(),
    expiresAt: z.string(),
    /** Those of the key that added the auditor: networks that the token may be used from; none: any. */
    allowedCidrs: z.array(z.string()),
    /** SHA-256 of the token, hex; the token itself is nowhere. */
    secret: z.object({ hash: z.string().length(64), last4: z.string() }),
  }),
  AuditorRemoved: z.object({ auditorId: z.string() }),
};

/** What is read that may say something about people, and is put on record. */
export const READINGS = ['message_content', 'captured_mail', 'suppressions'] as const;

export const readingEvents = {
  /** By whom is in the context. `percent`: so many of such readings were put on record at that time. */
  DataRead: z.object({
    organizationId: z.string(),
    what: z.enum(READINGS),
    /** null: all that there is. */
    subjectId: z.string().nullable(),
    percent: z.number(),
  }),
};
