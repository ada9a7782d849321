import { isRecipientPart, recipientPart, saltedParts } from '../../domain/message/draft.ts';
import {
  type Contents,
  type ErasedContent,
  type ExpiredContent,
  isKeptPart,
  isPartlyErased,
  type RemovedPart,
  type StoredBody,
} from '../../domain/ports/contents.ts';
import { WrongSecretKey } from '../../domain/ports/secrets.ts';
import { inTurns } from '../../lib/async/async.ts';
import { partHash, type SaltedPart } from '../../lib/transparency/transparency.ts';
import type { ContentsCodec } from '../contents/contents-codec.ts';

/**
 * Records that replace removed contents. If a message's event is bound to its parts, the record keeps the hashes of
 * these, and the parts of recipients that an erasure does not concern. So a message is read and hashed once more before
 * it is removed.
 */

/** A row that may be removed. */
export interface Removable {
  readonly id: string;
  readonly kind: string;
  readonly organizationId: string;
  /** Changes with the row. */
  readonly version: string;
}

export interface Removal extends Pick<Removable, 'id' | 'version'> {
  readonly as: string;
  readonly body: string;
}

export type Reason = Pick<ExpiredContent, 'kind' | 'at'> | Pick<ErasedContent, 'kind' | 'at' | 'erasureId'>;

export interface RemovedContents {
  /**
   * One for each row that loses a part.
   * @param recipientIds recipients that an erasure concerns; absent: all parts are removed.
   */
  removals(rows: readonly Removable[], reason: Reason, recipientIds?: readonly string[]): Promise<readonly Removal[]>;
}

/** Rows read at once. Each may have 40 MB. */
const ROWS_AT_ONCE = 4;

const hashed = (part: SaltedPart): RemovedPart => ({ name: part.name, hash: partHash(part).toString('base64') });

type Goes = (part: Pick<SaltedPart, 'name'>) => boolean;

const goesWith = (recipientIds: readonly string[] | undefined): Goes => {
  if (recipientIds === undefined) return () => true;
  const own = new Set(recipientIds.map(recipientPart));
  return ({ name }) => own.has(name) || !isRecipientPart(name);
};

/** @returns null if the row stays unchanged. */
const recordOf = async (body: StoredBody | undefined, reason: Reason, goes: Goes): Promise<StoredBody | null> => {
  if (body !== undefined && isPartlyErased(body)) {
    const { parts = [] } = body;
    if (!parts.some((part) => isKeptPart(part) && goes(part))) return null;
    return {
      ...body,
      parts: parts.map((part) => (isKeptPart(part) && goes(part) ? { ...hashed(part), later: reason } : part)),
    };
  }
  const salted = body?.kind === 'message' ? await inTurns(saltedParts(body)) : null;
  if (salted === null) return reason;
  if (reason.kind === 'expired') return { ...reason, parts: salted.map(hashed) };
  return { ...reason, parts: salted.map((part) => (goes(part) ? hashed(part) : part)) };
};

export const createRemovedContents = (
  contents: Pick<Contents, 'get'>,
  codec: Pick<ContentsCodec, 'encode'>,
): RemovedContents => {
  /** Contents that no key opens are removed too: they cannot be read any more. */
  const bodyOf = async (id: string): Promise<StoredBody | undefined> => {
    try {
      return (await contents.get([id])).get(id);
    } catch (error) {
      if (error instanceof WrongSecretKey) return undefined;
      throw error;
    }
  };

  return {
    removals: async (rows, reason, recipientIds) => {
      const goes = goesWith(recipientIds);
      const removals: Removal[] = [];
      const one = async ({ id, kind, organizationId, version }: Removable): Promise<void> => {
        const body = kind === 'message' || kind === 'partly_erased' ? await bodyOf(id) : undefined;
        const record = await recordOf(body, reason, goes);
        if (record === null) return;
        const encoded = await codec.encode({ id, organizationId, body: record });
        removals.push({ id, version, as: encoded.kind, body: encoded.body });
      };
      for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
        await Promise.all(rows.slice(from, from + ROWS_AT_ONCE).map(one));
      }
      return removals;
    },
  };
};

/**
 * Removes contents: the records `$4` of kinds `$3` replace those with the ids `$1`, unless these no longer have the
 * versions `$2`. The table `removed` has the previous kind of each.
 */
export const removal = (lock = ''): string => `
  removing as (
    select c.id, c.kind, n.kind as becomes, n.body
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as n (id, version, kind, body)
    join vault.contents c on c.id = n.id and c.xmin::text = n.version
    order by c.id for update of c ${lock}
  ),
  removed as (
    update vault.contents c
    set kind = removing.becomes, head = null, body = removing.body::json, size_bytes = octet_length(removing.body),
      message_id = null, subject_words = null
    from removing where c.id = removing.id
    returning removing.kind
  )`;

/** Its four parameters. */
export const columnsOf = (removals: readonly Removal[]): readonly string[][] => [
  removals.map(({ id }) => id),
  removals.map(({ version }) => version),
  removals.map(({ as }) => as),
  removals.map(({ body }) => body),
];
