import type { DkimKeys, MadeDkimKey } from '../../../src/domain/ports/secrets.ts';

const RSA_PRIVATE = [
  'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAZYEbxJElG3krTrOM+l4KYjxSnxRrc7kLR+cecosRScTvrlyM',
  'hj19rg6M9OJAHPMSJYtcuzTMzHjon2WwEDZybla/mod2xQ8WWewuqdl4uRuIf4I1aytvEl/3redtPJlld4Jty5mbI9Dg5Z/jnOPo',
  'tP5p47xlbTGywW/eVo9zbvkOd+AdmuDNOFM/jqnE4EV0tqLuvsgk7yYACyeWfT26/aGEYEfiKivX/Y2vtaNfKzCd1a0FOCjSjS4d',
  '3yVsnkglNW11yxhVGkuG+qJGdjNcPveUV8s1d5zVPFwBMNf9DDSmRhggs9RVfUF9511tsiuk9K6ELRJDWZvWCvw6HQjxAgMBAAEC',
  'ggEACiqy+7Z+RwbgdyHltLrxkjyRByVXN7sPRGHXJuboThBnDZVaAvurBIOt9X6RStBc0JDXAEj3ks+b9LWg8tYAfTkzG1U9TaY/',
  'KbAJyN4lME8efdmNwL3k4diHkA01WrKQ6+mN+mL/vyYm3mOJTfFXTSTsrB133KeRsJUD5iy5JYvYXEznhaKfwnPoxyqlNXQm9gbK',
  'EGJ9484fxtMqkyeZGIz29zOu3KPZUAA3/XUvHi0CnnV9ATg0o+PsdK/xQOvZxfcDJwsC6pAfz4Z/HKn3ubcZfbMvfJbOOKbtazwS',
  'ZA2m+fClV2cMlqtxMhNylu+HqOyy2ZcY5DJyLNYeaaw8wwKBgQDsHDI1JeE8ZVykGs5v7YdLRYUQg6dlrJXA4Rvc6E2oJvc3FKwe',
  'iA7vfrIvn/1rGCMCAFJpe2O4Lo4O2Fi0DjqnnS5mk48vXzHDaPvUM2r3kIWRknf5pHzNodKlWw4cHc6+AjaLKiZgX0w6X3uYeaWB',
  'ALudo3wzI9C5/ReScsDpBwKBgQDQmptt2DY4BRM+QssD6J5L8JnniZ3Thbcrd2XB13U2IrAM6gtCmMBBTN+XcqZTTk2+kOOV1XW7',
  'szgzS8EdnT0f5e9dEj7rS8CDUEaVj/n4C9OTaNU4yeoBpIAxRYWbINEkhTbkhMjDQzPPTqsYS5mNcjaxRtp0EGrniwqOfu5YRwKB',
  'gHqTHMGYu7imCpUrUXasAmviWHU9U98l3My4UMW7V+1u5TKUKdLj4ZUV2h19WouJiUsVrbMTGq7YhGlSiaJYLL0tjZQ1EMWQDv6a',
  'dvowA10oix8Kwfw5F42NcBTmE4onM1hTP8u5gxjPAHzhawG6TWCOZ9grsmO+OTMFIIKnzlxrAoGAc/JrkAuMX2jawFGJ3BtQ2S7b',
  'rKl+MxLws9VClxK2EKgJKLRyG8shmWosIVbVghpU9iY8iYzDStgb1c82gMpkLjW07Qt2M3zAfXyCLyF+tFOGfznWwiDg05bmtfxJ',
  'fecouF7fGvd/S6Evy/uS+AcVS1x/b9vNEpQJh7dt37RHsIMCgYEAiDuWrw8Grkq2a8awPHm24Sc81eBWNDMwni+5NsbSjCGuyTdS',
  'PWxRjKtV3dJSK1E036KD4cczLn5qOkXhNVaDf+d/mYRrVto+VEkBOhRNHVsAXeiSsU4hQNDrmlWlX0xf8Xd1U9fVfT0QUDlFWero',
  'oaWLLN7+TDtjwGwNuuOZixU=',
];
const RSA_PUBLIC = [
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwGWBG8SRJRt5K06zjPpeCmI8Up8Ua3O5C0fnHnKLEUnE765cjIY9fa4O',
  'jPTiQBzzEiWLXLs0zMx46J9lsBA2cm5Wv5qHdsUPFlnsLqnZeLkbiH+CNWsrbxJf963nbTyZZXeCbcuZmyPQ4OWf45zj6LT+aeO8',
  'ZW0xssFv3laPc275DnfgHZrgzThTP46pxOBFdLai7r7IJO8mAAsnln09uv2hhGBH4ior1/2Nr7WjXyswndWtBTgo0o0uHd8lbJ5I',
  'JTVtdcsYVRpLhvqiRnYzXD73lFfLNXec1TxcATDX/Qw0pkYYILPUVX1BfeddbbIrpPSuhC0SQ1mb1gr8Oh0I8QIDAQAB',
];

const pem = (base64: string): string =>
  `-----BEGIN PRIVATE KEY-----\n${(base64.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`;

const PAIR: readonly MadeDkimKey[] = [
  { algorithm: 'rsa-sha256', privateKey: pem(RSA_PRIVATE.join('')), publicKey: RSA_PUBLIC.join('') },
  {
    algorithm: 'ed25519-sha256',
    privateKey: pem('MC4CAQAwBQYDK2VwBCIEIK5WhNEY2gyKXM9Uc44eFWGtmN480Iu2OLW9mc32ZATa'),
    publicKey: 'ATNtfCBgmD7Qb63XiATSOvOu31to12xzl5u2+5EvkSw=',
  },
];

/** Real keys for tests and simulations. All domains share one pair, so that no key is generated. */
export const createInMemoryDkimKeys = (): DkimKeys => ({ make: async () => PAIR });
