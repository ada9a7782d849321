import { type Secrets, WrongSecretKey } from '../../domain/ports/secrets.ts';
import { StartRefused } from '../../domain/start-refused.ts';

/** A row that nobody needs, stored at the very first start: whether it opens tells whether the key is the same. */
export const CANARY = 'secret-key-check';

/**
 * Makes sure at the start, not at the first delivery, that this process can open what is stored.
 * @throws {StartRefused} `SECRET_KEY` is not the one that the secrets were stored under.
 */
export const checkSecretKey = async (secrets: Secrets): Promise<void> => {
  try {
    await secrets.put(CANARY, '', 'the key is right');
    await secrets.get(CANARY);
  } catch (error) {
    if (!(error instanceof WrongSecretKey)) throw error;
    throw new StartRefused(
      'the secrets in the database were encrypted under another SECRET_KEY: set that one (for the built-in database it is in the file secret-key of DATA_DIR), or, while you rotate it, set it as PREVIOUS_SECRET_KEY',
    );
  }
};
