import { describe, expect, test } from 'vitest';
import { browserName } from '../../../src/http/resources/members/browser-name.ts';

const APPLE = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';

describe('the name of a browser', () => {
  test.each([
    ['Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0', 'Firefox 142 on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}`, 'Chrome 141 on Windows'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Edg/141.0.0.0`, 'Edge 141 on Windows'],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${APPLE} Version/18.5 Safari/605.1.15`, 'Safari 18 on macOS'],
    [
      `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${APPLE} Version/18.5 Mobile/15E148 Safari/604.1`,
      'Safari 18 on iPhone',
    ],
    ['Mozilla/5.0 (Linux; Android 15) Gecko/142.0 Something/1', 'A browser on Android'],
    ['curl/8.14.1', 'curl 8'],
  ])('of %j is %s', (userAgent, name) => {
    expect(browserName(userAgent)).toBe(name);
  });

  test.each(['', '\u202Egnp.exe <script>', 'x'.repeat(512), 'Chrome/'])('of %j is unknown', (userAgent) => {
    expect(browserName(userAgent)).toBeNull();
  });
});
