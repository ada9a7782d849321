import { isId } from '../ids.ts';

/** Names by which sends know templates. */

const ALIAS = /^[a-z0-9-]{1,64}$/;

export const isAlias = (name: string): boolean => ALIAS.test(name);

/** The alias that another service's name of a template becomes: `Order_Sent.v2` is `order-sent-v2`. Our own ids stay. */
export const aliasOf = (name: string): string =>
  isId('tpl', name) ? name : name.toLowerCase().replaceAll(/[_.\s]/g, '-');
