import type { Secrets } from '../domain/ports/secrets.ts';
import { putNote } from './open-operator.ts';

/** Vault row with the time of the last backup that the command made. It is not in that backup. */
const ROW = 'last-backup';

export const noteBackup = (secrets: Secrets, at: Date): Promise<void> => putNote(secrets, ROW, at.toISOString());

/** ISO 8601; undefined: none was made. */
export const readBackupNote = (secrets: Pick<Secrets, 'get'>): Promise<string | undefined> => secrets.get(ROW);
