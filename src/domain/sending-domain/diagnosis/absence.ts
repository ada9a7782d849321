import { invalid, missing, type Sighting, type Verdict } from './sighting.ts';

const misplaced = ({ host, domain }: Sighting, published: string): Verdict => {
  const appended = published.slice(host.length + 1);
  const wanted = host.endsWith(`.${appended}`) ? host.slice(0, -appended.length - 1) : host;
  return missing(
    `the record is at ${published}: the form of your DNS provider appends ${appended} by itself, so enter ${wanted} as its host (domain ${domain.name})`,
  );
};

/** Why there is nothing at a host. @param what `TXT` or `CNAME`. */
export const absence = (sighting: Sighting, what: 'TXT' | 'CNAME'): Verdict => {
  const { host, answer, doubled, domain } = sighting;
  const alias = answer?.aliases.at(-1);
  if (doubled !== null) return misplaced(sighting, doubled.host);
  if (alias !== undefined) {
    return invalid(
      `the host ${host} is a CNAME that leads to ${alias}, where there is no such record: no other record can stand beside a CNAME, so remove it`,
    );
  }
  if (!domain.exists) {
    return missing(`the domain ${domain.name} does not exist in the DNS (NXDOMAIN): register it, or correct its name`);
  }
  const nothing = answer?.exists === true ? `no ${what} record` : 'nothing at all';
  return missing(`there is ${nothing} at ${host}`);
};
