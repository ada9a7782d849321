import { describe, expect, test } from 'vitest';
import { recordsToPublish } from '../../../src/domain/sending-domain/records-to-publish.ts';
import { trackedTarget, trackingOf, trackingTarget, trackingUrl } from '../../../src/domain/tracking/tracking.ts';

describe('which links are tracked', () => {
  const untracked = { publicUrl: 'https://mail.service.test', unsubscribe: { url: 'https://shop.test/leave?me=1' } };
  const targetOf = (href: string): string | null => trackedTarget(href, untracked);

  test.each([
    ['https://shop.test', 'https://shop.test/'],
    ['HTTP://Shop.Test:80/a b', 'http://shop.test/a%20b'],
    ['  https://shop.test/\n', 'https://shop.test/'],
    ['https://bücher.test/ä?ö=ü#ß', 'https://xn--bcher-kva.test/%C3%A4?%C3%B6=%C3%BC#%C3%9F'],
    ['https://mail.service.test.evil.test/', 'https://mail.service.test.evil.test/'],
  ])('%j is, to %s', (href, target) => {
    expect(targetOf(href)).toBe(target);
  });

  test.each([
    ['mailto:a@shop.test'],
    ['tel:+491234'],
    ['sms:+491234'],
    ['cid:logo'],
    ['#top'],
    ['/relative'],
    ['//shop.test/without-scheme'],
    ['javascript:alert(1)'],
    [' java\nscript:alert(1)'],
    ['data:text/html,https://shop.test'],
    ['https:shop.test'],
    ['https://'],
    ['https://user:password@shop.test/'],
    ['{{ url }}'],
    [''],
    [`https://shop.test/${'a'.repeat(8192)}`],
    [`https://shop.test/${'ä'.repeat(1000)}`],
    ['https://mail.service.test/unsubscribe/abc'],
    ['https://shop.test/leave?me=1'],
    ['https://shop.test/Unsubscribe?id=1'],
    ['https://shop.test/mail?action=opt-out'],
  ])('%j is not', (href) => {
    expect(targetOf(href)).toBeNull();
  });
});

describe('what is tracked', () => {
  test('is nothing, unless the domain or the message says so; the message takes precedence', () => {
    expect(trackingOf()).toEqual({ opens: false, clicks: false });
    expect(trackingOf({ opens: true, clicks: false })).toEqual({ opens: true, clicks: false });
    expect(trackingOf({ opens: true, clicks: false }, { opens: false })).toEqual({ opens: false, clicks: false });
    expect(trackingOf(undefined, { clicks: true })).toEqual({ opens: false, clicks: true });
  });
});

describe('the tracking host', () => {
  const recordsOf = (name: string, target: string | null) => {
    const domain = { name, token: 't', dkim: { active: null, pending: null, retired: [] }, inbound: { mx: false } };
    return recordsToPublish(domain, { bounceDomain: null, trackingTarget: target });
  };

  test('is among the records of a domain, if the service has a name that is not that host', () => {
    expect(recordsOf('example.com', 'mail.service.test')).toContainEqual(
      expect.objectContaining({
        ...{ kind: 'tracking', type: 'CNAME', host: 'track.example.com', value: 'mail.service.test', required: false },
      }),
    );
    for (const target of [null, 'track.example.com']) {
      expect(recordsOf('example.com', target).map(({ kind }) => kind)).not.toContain('tracking');
    }
  });

  test('leads to the host of the service, if that has a name', () => {
    expect(trackingTarget('https://mail.service.test/outbox')).toBe('mail.service.test');
    for (const url of ['http://127.0.0.1:3000', 'http://[::1]', 'http://localhost', null])
      expect(trackingTarget(url)).toBeNull();
  });

  test('replaces that of the service in links, which keep scheme, port and path', () => {
    expect(trackingUrl('https://mail.service.test:8443/outbox', 'example.com')).toBe(
      'https://track.example.com:8443/outbox',
    );
    expect(trackingUrl('http://mail.service.test', 'example.com')).toBe('http://track.example.com');
  });
});
