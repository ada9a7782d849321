import { parse } from 'tldts';

/**
 * Whether a registry gives away the names right below this one (`co.uk`), by the ICANN section of the list at
 * publicsuffix.org: those of its other section (`github.io`) belong to somebody, who may send from them.
 * @param name A-labels, lower case.
 */
export const isPublicSuffix = (name: string): boolean => {
  const { publicSuffix, isIcann } = parse(name, { extractHostname: false, allowPrivateDomains: false });
  return isIcann === true && publicSuffix === name;
};
