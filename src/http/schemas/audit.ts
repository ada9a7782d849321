import { z } from 'zod';
import { timeSchema } from './envelope.ts';
import { addressSchema } from './key-history.ts';

/** The audit log, its signed checkpoints, and proofs. */

export const auditEntrySchema = z
  .strictObject({
    object: z.literal('audit_entry'),
    leaf_index: z.number().int().describe('Place in the tree, from 0.'),
    event_id: z.string(),
    type: z.string(),
    occurred_at: timeSchema(),
    actor: z.strictObject({
      type: z.string(),
      id: z.string().nullable(),
      secret: z
        .number()
        .int()
        .nullable()
        .describe('Of a key: which of its values, from 1; each rotation makes another.'),
      secret_last4: z.string().nullable().describe('Of that value.'),
      session_id: z.string().nullable().describe('Of a member: in which session.'),
    }),
    address: addressSchema(),
    request_id: z.string().nullable(),
    stream: z.string().describe('The history that the event is in, such as `apiKey-<id>`.'),
    revision: z.number().int().describe('Place in the stream, from 0, without gaps.'),
    data: z.record(z.string(), z.unknown()).describe('As it is stored.'),
  })
  .meta({ id: 'AuditEntry' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

export const auditCheckpointSchema = z
  .strictObject({
    object: z.literal('audit_checkpoint'),
    origin: z.string().describe('Name of the tree.'),
    size: z.number().int().describe('Leaves that it is about, from the first.'),
    root_hash: z.string().describe('Root of the Merkle tree of these leaves (RFC 9162), in base64.'),
    note: z.string().describe('The signed note (C2SP signed-note, tlog-checkpoint).'),
    verifier_key: z.string().describe('The public key that signed it (C2SP signed-note). Keep the first that you see.'),
    signed_at: timeSchema(),
  })
  .meta({ id: 'AuditCheckpoint' });

export type AuditCheckpoint = z.infer<typeof auditCheckpointSchema>;

export const auditProofSchema = z
  .strictObject({
    object: z.literal('audit_proof'),
    event_id: z.string().describe('Of the audit entry.'),
    leaf_index: z.number().int(),
    leaf: z.string().describe('What is hashed: a line of canonical JSON (RFC 8785).'),
    hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3), in base64, from the leaf upwards.'),
    checkpoint: z.string().describe('The signed note that the proof leads to.'),
  })
  .meta({ id: 'AuditProof' });

export type AuditProof = z.infer<typeof auditProofSchema>;

export const auditConsistencySchema = z
  .strictObject({
    object: z.literal('audit_consistency'),
    from: z.strictObject({ size: z.number().int(), root_hash: z.string() }),
    to: z.strictObject({ size: z.number().int(), root_hash: z.string() }),
    hashes: z.array(z.string()).describe('Proof of consistency (RFC 9162 §2.1.4), in base64.'),
    checkpoint: z.string().describe('The newest signed note.'),
  })
  .meta({ id: 'AuditConsistency' });

export type AuditConsistency = z.infer<typeof auditConsistencySchema>;
