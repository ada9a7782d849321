import { isRecipientPart, recipientPart, saltedParts } from '../../domain/message/content-parts.ts';
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
 * What takes the place of contents that are removed. Of a message whose event is bound to its parts, the hashes of these
 * stay, and the parts of recipients that an erasure is not about. So a message is read and hashed once more before it goes.
 */

/** A row that may be removed. */
export interface Removable {
  readonly id: string;
  readonly kind: string;
  readonly organizationId: string;
  /** It changes with the row. */
  readonly version: string;
}

export interface Removal extends Pick<Removable, 'id' | 'version'> {
  readonly as: string;
  readonly body: string;
}

export type Reason = Pick<ExpiredContent, 'kind' | 'at'> | Pick<ErasedContent, 'kind' | 'at' | 'erasureId'>;

export interface RemovedContents {
  /**
   * One for each row of which something goes.
   * @param recipientIds whom an erasure is about; absent: all parts go.
   */
  removals(rows: readonly Removable[], reason: Reason, recipientIds?: readonly string[]): Promise<readonly Removal[]>;
}

/** Read at once: each may have 40 MB. */
const ROWS_AT_ONCE = 4;

const hashed = (part: SaltedPart): RemovedPart => ({ name: part.name, hash: partHash(part).toString('base64') });

type Goes = (part: Pick<SaltedPart, 'name'>) => boolean;

const goesWith = (recipientIds: readonly string[] | undefined): Goes => {
  if (recipientIds === undefined) return () => true;
  const own = new Set(recipientIds.map(recipientPart));
  return ({ name }) => own.has(name) || !isRecipientPart(name);
};

/** @returns null: it stays as it is. */
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
  /** What no key opens goes as well: it says nothing any more. */
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
 * How contents are removed: the records `$4` of kinds `$3` take the place of those with the ids `$1`, unless these are not
 * of the versions `$2` any more. The table `removed` has the kind that each was of.
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

/** The four parameters of it. */
export const columnsOf = (removals: readonly Removal[]): readonly string[][] => [
  removals.map(({ id }) => id),
  removals.map(({ version }) => version),
  removals.map(({ as }) => as),
  removals.map(({ body }) => body),
];
