import type { LightMyRequestResponse } from 'fastify';
import type { Service } from './service.ts';

/** Header that browsers send from a page of the service. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' } as const;

let addresses = 0;

/** Attempts are limited by address, so each one uses a new address. */
export const nextAddress = (): string => {
  addresses += 1;
  return `10.200.${(addresses >> 8) & 255}.${addresses & 255}`;
};

/** Uses a sign-in link. @param url with the token after `#`. */
export const signInWith = (
  service: Pick<Service, 'request'>,
  url: string,
  more: object = {},
): Promise<LightMyRequestResponse> =>
  service.request({
    method: 'POST',
    url: '/v1/session',
    headers: SAME_ORIGIN,
    remoteAddress: nextAddress(),
    payload: { token: new URL(url).hash.slice(1) },
    ...more,
  });

/** The cookie that the browser sends back. */
export const cookieOf = ({ headers }: LightMyRequestResponse): string =>
  String(headers['set-cookie']).split(';')[0] ?? '';
