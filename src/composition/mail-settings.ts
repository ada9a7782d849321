import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Secrets } from '../domain/ports/secrets.ts';

/** A row of the vault: how the service that started last sends, for the operator's commands. */
const ROW = 'mail-settings';

const schema = z.object({
  kind: z.enum(['capture', 'direct', 'smarthost']),
  bounceDomain: z.string().nullable(),
  ehloName: z.string().nullable(),
  /** null: links in mail lead to where the API listens. */
  publicUrl: z.string().nullable(),
});

/** What the records of a domain depend on, and whether they are needed; never where a smarthost is, or its password. */
export type MailSettings = Readonly<z.infer<typeof schema>>;

/**
 * Leaves them for the commands, whose shell seldom has the service's variables. A row never changes: it is replaced, and
 * a command of just that moment finds none.
 */
export const noteMailSettings = async (
  secrets: Secrets,
  { mail, bounceDomain, ehloName, publicUrl }: Pick<Config, 'mail' | 'bounceDomain' | 'ehloName' | 'publicUrl'>,
): Promise<void> => {
  const now: MailSettings = {
    kind: mail.kind,
    bounceDomain: bounceDomain ?? null,
    ehloName: ehloName ?? null,
    publicUrl: publicUrl ?? null,
  };
  const settings = JSON.stringify(now);
  const noted = await secrets.get(ROW);
  if (noted === settings) return;
  if (noted !== undefined) await secrets.destroy([ROW]);
  await secrets.put(ROW, '', settings);
};

/** Of the service that started last; undefined: none has. */
export const readMailSettings = async (secrets: Pick<Secrets, 'get'>): Promise<MailSettings | undefined> => {
  const noted = await secrets.get(ROW);
  return noted === undefined ? undefined : schema.parse(JSON.parse(noted));
};
