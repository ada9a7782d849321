import { z } from 'zod';
import { timeSchema } from './envelope.ts';
import { addressSchema } from './key-history.ts';

/** The audit log, its signed checkpoints, and proofs. */

export const auditEntrySchema = z
  .strictObject({
    object: z.literal('audit_entry'),
    leaf_index: z.number().int().describe('Index in the tree, from 0.'),
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
        .describe(
          'Number of the key’s value that was used, from 1; each rotation makes a new value. null: not an API key.',
        ),
      secret_last4: z.string().nullable().describe('Last characters of that value.'),
      session_id: z.string().nullable().describe('Session of the member. null: not a member.'),
    }),
    address: addressSchema(),
    request_id: z.string().nullable(),
    stream: z.string().describe('Log stream that contains the event, such as `apiKey-<id>`.'),
    revision: z.number().int().describe('Position in the stream, from 0, without gaps.'),
    data: z.record(z.string(), z.unknown()).describe('The data of the event, as stored.'),
  })
  .meta({ id: 'AuditEntry' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

export const auditCheckpointSchema = z
  .strictObject({
    object: z.literal('audit_checkpoint'),
    origin: z.string().describe('Name of the tree.'),
    size: z.number().int().describe('Number of leaves that it covers, from the first.'),
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
    event_id: z.string().describe('Id of the event in the audit entry.'),
    leaf_index: z.number().int(),
    leaf: z.string().describe('The hashed data: a line of canonical JSON (RFC 8785).'),
    hashes: z.array(z.string()).describe('Proof of inclusion (RFC 9162 §2.1.3), in base64, from the leaf upwards.'),
    checkpoint: z.string().describe('The signed note that the proof refers to.'),
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
