import { z } from 'zod';
import { createLogger } from '../adapters/system.ts';
import type { Config } from '../config.ts';
import { type Secrets, WrongSecretKey } from '../domain/ports/secrets.ts';
import { NO_POLICY, type Policy, parsePolicy, policyText } from '../lib/transparency/transparency.ts';
import { AGREED_FORMAT, type Agreed, type CheckNotes } from '../projections/audit/check/agreed.ts';
import type { TreeCheckResult } from '../projections/audit/check/check-trees.ts';
import { createClosers } from './lifecycle.ts';
import { type Engines, openEngines } from './open-engines.ts';
import { readWitnessPolicy } from './read-service-config.ts';

/** Vault row with the mail settings of the last started service, for the operator's commands. */
const ROW = 'mail-settings';

const schema = z.object({
  kind: z.enum(['capture', 'direct', 'smarthost']),
  bounceDomain: z.string().nullable(),
  ehloName: z.string().nullable(),
  /** null: links in mail use the address that the API listens on. */
  publicUrl: z.string().nullable(),
});

/** The settings that a domain's DNS records depend on. Never the smarthost or its password. */
export type MailSettings = Readonly<z.infer<typeof schema>>;

/** Keeps a text for the operator's commands, under a name of its own. */
const putNote = async (secrets: Secrets, name: string, text: string): Promise<void> => {
  const noted = await secrets.get(name);
  if (noted === text) return;
  if (noted !== undefined) await secrets.destroy([name]);
  await secrets.put(name, '', text);
};

/**
 * Stores the settings for the operator's commands, whose shell seldom has the service's variables. Vault rows are
 * replaced, not changed: a command at that very moment finds none.
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
  await putNote(secrets, ROW, JSON.stringify(now));
};

/** Settings of the last started service; undefined: none has started. */
const readMailSettings = async (secrets: Pick<Secrets, 'get'>): Promise<MailSettings | undefined> => {
  const noted = await secrets.get(ROW);
  return noted === undefined ? undefined : schema.parse(JSON.parse(noted));
};

/** Vault row with the address of the API that was started last. */
const API_ROW = 'api-url';

/** Stores where the API is reached, for links that the operator's commands print: its port may be any that was free. */
export const noteApiUrl = (secrets: Secrets, url: string): Promise<void> => putNote(secrets, API_ROW, url);

/** Vault row with the witness policy of the service, for checks in a shell that does not have its variables. */
const POLICY_ROW = 'witness-policy';

export const noteWitnessPolicy = (secrets: Secrets, policy: Policy): Promise<void> =>
  putNote(secrets, POLICY_ROW, policyText(policy));

/** The policy of `AUDIT_WITNESSES`, or else of the last service that started. @throws {StartRefused} */
export const witnessPolicyOf = async (
  { auditWitnesses }: Pick<Config, 'auditWitnesses'>,
  secrets: Pick<Secrets, 'get'>,
): Promise<Policy> => {
  if (auditWitnesses !== undefined) return readWitnessPolicy(auditWitnesses);
  const noted = await secrets.get(POLICY_ROW);
  return noted === undefined ? NO_POLICY : parsePolicy(noted);
};

/** The engines for the operator's commands, with or without a running service. */
export interface Operator extends Engines {
  /** Mail settings of the last started service; undefined: none has started. */
  readonly mail: MailSettings | undefined;
  /** URL of the API that was started last; undefined: none has started. */
  readonly apiUrl: string | undefined;
  close(): Promise<void>;
}

/**
 * @param mayBeNew creates the built-in database if it is missing.
 * @throws {StartRefused}
 */
export const openOperator = async (config: Config, { mayBeNew = false } = {}): Promise<Operator> => {
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel;
  const logger = createLogger({ level });
  const closers = createClosers(logger);
  try {
    const engines = await openEngines({ config, logger, closers, owner: false, mustExist: !mayBeNew });
    const { secrets } = engines.context;
    const [mail, apiUrl] = [await readMailSettings(secrets), await secrets.get(API_ROW)];
    return { ...engines, mail, apiUrl, close: closers.closeAll };
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};

/** Vault row with the time of the last backup that the command made. It is not in that backup. */
const BACKUP_ROW = 'last-backup';

export const noteBackup = (secrets: Secrets, at: Date): Promise<void> => putNote(secrets, BACKUP_ROW, at.toISOString());

/** ISO 8601; undefined: none was made. */
export const readBackupNote = (secrets: Pick<Secrets, 'get'>): Promise<string | undefined> => secrets.get(BACKUP_ROW);

/** Vault row with what the last check of all audit trees found, for `outbox doctor`. */
const AUDIT_CHECK_ROW = 'audit-check';

const auditCheckSchema = z.object({
  /** When it ended. ISO 8601. */
  at: z.string(),
  verdict: z.enum(['no fault', 'consistent', 'faults', 'undecided']),
  faults: z.number().int(),
  doubts: z.array(z.string()),
});

export type LastAuditCheck = Readonly<z.infer<typeof auditCheckSchema>>;

export const noteAuditCheck = (
  secrets: Secrets,
  at: Date,
  { verdict, faultCount, doubts }: Pick<TreeCheckResult, 'verdict' | 'faultCount' | 'doubts'>,
): Promise<void> => {
  const noted: LastAuditCheck = { at: at.toISOString(), verdict, faults: faultCount, doubts: [...doubts] };
  return putNote(secrets, AUDIT_CHECK_ROW, JSON.stringify(noted));
};

/** undefined: none has ended. */
export const readAuditCheck = async (secrets: Pick<Secrets, 'get'>): Promise<LastAuditCheck | undefined> => {
  const noted = await secrets.get(AUDIT_CHECK_ROW);
  return noted === undefined ? undefined : auditCheckSchema.parse(JSON.parse(noted));
};

/** Vault row with where the last check of all audit trees ended. The vault seals it under `SECRET_KEY`, for this row alone. */
const AUDIT_CHECK_END_ROW = 'audit-check-end';

/** @returns null: another version wrote it, so everything is read. */
const agreedIn = (noted: string): Agreed | null => {
  const agreed = JSON.parse(noted) as Agreed; // what the vault opens was written by a check
  return agreed.format === AGREED_FORMAT ? agreed : null;
};

/** @param secrets that were not read from before: other processes replace this row. */
export const auditCheckNotes = (secrets: Secrets): CheckNotes => ({
  read: async () => {
    try {
      const noted = await secrets.get(AUDIT_CHECK_END_ROW);
      return noted === undefined ? null : agreedIn(noted);
    } catch (error) {
      if (error instanceof WrongSecretKey) return 'falsified';
      throw error;
    }
  },
  write: async (agreed) => {
    await secrets.destroy([AUDIT_CHECK_END_ROW]);
    if (agreed !== null) await secrets.put(AUDIT_CHECK_END_ROW, '', JSON.stringify(agreed));
  },
});
