import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe.each(['/docs/messages', '/openapi.json'])('%s', (url) => {
  test('is compressed for clients that accept it, and the same page for others', async () => {
    const plain = await service.request({ url });
    const small = await service.request({ url, headers: { 'accept-encoding': 'br;q=1, GZIP;q=0.5' } });
    expect([plain.headers['content-encoding'], small.headers['content-encoding']]).toEqual([undefined, 'gzip']);
    expect(gunzipSync(small.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
    expect(small.headers.vary).toBe('Accept-Encoding');
    expect(small.headers.etag).not.toBe(plain.headers.etag);
    for (const refusal of ['identity', 'gzip;q=0', 'gzip; q=0.00', 'gzipped', 'deflate, br'])
      expect(
        (await service.request({ url, headers: { 'accept-encoding': refusal } })).headers['content-encoding'],
      ).toBeUndefined();
  });

  test('is not sent again to a client that has it', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const headers = { 'accept-encoding': encoding };
      const { etag, ...first } = (await service.request({ url, headers })).headers;
      expect(first['cache-control']).toBe('no-cache');
      for (const known of [String(etag), `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await service.request({ url, headers: { ...headers, 'if-none-match': known } });
        expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
      }
      const stale = await service.request({ url, headers: { ...headers, 'if-none-match': '"other"' } });
      expect(stale.statusCode).toBe(200);
    }
  });

  test('is the same to HEAD, without the page', async () => {
    const [get, head] = [await service.request({ url }), await service.request({ url, method: 'HEAD' })];
    expect(head.body).toBe('');
    for (const name of ['etag', 'content-type', 'content-length', 'vary'])
      expect(head.headers[name]).toBe(get.headers[name]);
  });
});
