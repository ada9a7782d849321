import { readDirectory } from '../composition/directory.ts';
import type { MailSettings } from '../composition/mail-settings.ts';
import { type SmarthostTried, trySmarthost } from '../composition/try-smarthost.ts';
import type { Config } from '../config.ts';
import { LOG_START } from '../domain/event-store.ts';
import { createReadModels } from '../projections/read-models.ts';
import type { OperatorCommand } from './command.ts';

/** Behind by more than this, a read model is not just busy. */
const LAG_SECONDS_MAX = 60;

const mailProblems = (mail: MailSettings | undefined): readonly string[] => {
  if (mail === undefined) return ['it is not known how mail leaves (MAIL_URL): start the service once'];
  if (mail.kind === 'capture') return ['MAIL_URL is capture: no mail leaves this machine'];
  const isNameless = mail.kind === 'direct' && mail.ehloName === null;
  return isNameless ? ['EHLO_NAME is not set: many servers take no mail from whoever has no public name'] : [];
};

const NOT_GIVEN = 'the smarthost was not tried: give this command the MAIL_URL that the service has';

/** By the MAIL_URL of this shell: nothing else of the service's keeps its password. */
const smarthostOf = async (mail: MailSettings | undefined, config: Config): Promise<Partial<SmarthostTried>> => {
  if (config.mail.kind === 'smarthost')
    return trySmarthost(config.mail.url, config.ehloName ?? mail?.ehloName ?? undefined);
  return mail?.kind === 'smarthost' ? { sentence: NOT_GIVEN } : {};
};

export const doctorCommand: OperatorCommand = {
  name: 'doctor',
  usage: '',
  summary: 'looks at configuration, engines, read models, keys and smarthost, and says what is wrong',
  options: {},
  needs: 'engines',
  // That this runs says already: the configuration is right, the database and the log answer, SECRET_KEY opens the vault.
  run: async ({ context, pool, store, system, places, mail }, _, config) => {
    const models = await createReadModels({ pool, store, system }).lag();
    const { organizations, domains, keys } = await readDirectory(context);
    const behind = models.filter(({ seconds }) => seconds > LAG_SECONDS_MAX);
    const parked = models.filter(({ parkedEvents }) => parkedEvents > 0);
    const smarthost = await smarthostOf(mail, config);
    const problems = [
      ...behind.map(
        ({ name, seconds }) =>
          `read model ${name} is ${Math.round(seconds)} s behind: is a process with the role projections running?`,
      ),
      ...parked.map(
        ({ name, parkedEvents }) =>
          `read model ${name} has ${parkedEvents} parked events: \`npm run outbox -- projections retry-parked ${name}\``,
      ),
      ...mailProblems(mail),
      ...(smarthost.works === false ? [smarthost.sentence] : []),
      ...((await store.head()) === LOG_START ? ['the log is empty: start the service once'] : []),
    ];
    const counted = { organizations: organizations.size, domains: domains.size, keys: keys.size };
    return { places, log_id: await store.logId(), ...counted, smarthost: smarthost.sentence ?? null, problems };
  },
  // Whatever else is wrong may pass, or is meant so.
  isBad: (result) =>
    'problems' in result && Array.isArray(result.problems) && result.problems.includes(result.smarthost),
};
