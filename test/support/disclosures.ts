import { randomBytes } from 'node:crypto';
import { leafHash, partLeaf, rootOfParts } from '../../src/lib/transparency/transparency.ts';

/** Responses of `GET /v1/audit/disclosures/{event_id}`, in the service's own format. */

export interface DisclosedPart {
  readonly name: string;
  readonly leaf: string | null;
  readonly hash: string;
  readonly removed: { readonly reason: string; readonly at: string; readonly erasure_id: string | null } | null;
}

export interface DisclosureAnswer {
  readonly object: string;
  readonly event_id: string;
  readonly leaf_index: number;
  readonly content_root: string | null;
  readonly parts: readonly DisclosedPart[];
}

export const disclosedPart = (name: string, value: unknown): DisclosedPart => {
  const leaf = partLeaf({ salt: randomBytes(16).toString('base64url'), name, value });
  return { name, leaf, hash: leafHash(leaf).toString('base64'), removed: null };
};

/** A part after its content has been removed. */
export const removed = ({ name, hash }: DisclosedPart, erasureId: string | null = null): DisclosedPart => ({
  name,
  leaf: null,
  hash,
  removed: {
    reason: erasureId === null ? 'expired' : 'erased',
    at: '2031-05-17T12:00:00.000Z',
    erasure_id: erasureId,
  },
});

export const rootOf = (parts: readonly DisclosedPart[]): string =>
  rootOfParts(parts.map(({ hash }) => Buffer.from(hash, 'base64'))).toString('base64');

export const disclosureOf = (
  eventId: string,
  leafIndex: number,
  parts: readonly DisclosedPart[],
): DisclosureAnswer => ({
  object: 'audit_disclosure',
  event_id: eventId,
  leaf_index: leafIndex,
  content_root: parts.length === 0 ? null : rootOf(parts),
  parts,
});
