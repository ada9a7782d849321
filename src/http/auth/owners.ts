import type { Contents, StoredBody } from '../../domain/ports/contents.ts';
import type { Logger } from '../../lib/async/async.ts';
import type { KeyCache } from './key-cache.ts';

/** Names of owners, for the sentence that says who can give a member what their role lacks. They are in the vault. */

interface Parts {
  readonly keyCache: Pick<KeyCache, 'members'>;
  readonly contents: Pick<Contents, 'get'>;
  readonly logger: Logger;
}

const nameIn = (body: StoredBody | undefined): readonly string[] =>
  body?.kind === 'contact' && body.member !== undefined ? [body.member.name] : [];

/** Names of owners who have signed in, earliest first. Empty if the vault is down: the refusal is sent without names. */
export const createOwnersOf =
  ({ keyCache, contents, logger }: Parts) =>
  async (organizationId: string): Promise<readonly string[]> => {
    const members = Object.values(keyCache.members().get(organizationId)?.members ?? {});
    const ids = members.flatMap(({ role, status, contactId }) =>
      role === 'owner' && status === 'joined' ? [contactId] : [],
    );
    if (ids.length === 0) return [];
    const bodies = await contents.get(ids).catch((error: unknown) => {
      logger.warn({ err: error }, 'names of owners cannot be read');
      return new Map<string, StoredBody>();
    });
    return ids.flatMap((id) => nameIn(bodies.get(id)));
  };
