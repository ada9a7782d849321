import { type Progress, reencrypt } from '../adapters/secrets/reencrypt.ts';
import type { OperatorCommand } from './command.ts';

/** For people: what a command prints for programs goes to standard output. */
const tell = ({ table, rows, ofAbout }: Progress): void => {
  process.stderr.write(`vault.${table}: ${rows} of about ${ofAbout} rows\n`);
};

export const reencryptCommand: OperatorCommand = {
  name: 'secrets reencrypt',
  usage: '',
  summary: 'encrypts what is stored under SECRET_KEY, beside a running service; goes on where it was interrupted',
  options: {},
  needs: 'engines',
  run: async ({ pool, system, secretKeys }, _, { encryptContents: encryptsContents }) => {
    const { reencrypted, unreadable } = await reencrypt({
      pool,
      system,
      secretKeys,
      encryptsContents,
      onProgress: tell,
    });
    const next =
      unreadable.length > 0
        ? 'set the key that these rows were encrypted under as PREVIOUS_SECRET_KEY, and run this again'
        : 'PREVIOUS_SECRET_KEY is needed no more';
    return { reencrypted, unreadable, next };
  },
  isBad: (result) => 'unreadable' in result && Array.isArray(result.unreadable) && result.unreadable.length > 0,
};
