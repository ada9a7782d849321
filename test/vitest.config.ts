import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Most of what tests do is wait for engines: one more than the cores of a small machine.
    maxWorkers: 3,
    restoreMocks: true,
  },
});
