import { describe, expect, it } from 'vitest';
import { filesUnder, sources } from './files.ts';
import { circles, crowded, floors, importsOf, upwards, violations } from './layers.ts';

describe('the layers', () => {
  it('are kept by every file', () => {
    expect(violations(sources())).toEqual([]);
  });

  it.each([
    ['kinds/a.ts', "import { send } from '../hosting/transport.ts';", 'kinds do no I/O'],
    ['kinds/a.ts', "import { loop } from '../engine/loop.ts';", 'kinds see only engine/kind'],
    ['kinds/a.ts', "import { KubeError } from '../engine/ports.ts';", 'of the ports kinds see types only'],
    ['kinds/a.ts', "import { readFileSync } from 'node:fs';", 'kinds do no I/O'],
    ['kinds/hosted-app/schema.ts', "import { request } from 'undici';", 'kinds do no I/O'],
    ['engine/loop.ts', "import type { Mirror } from '../hosting/mirror.ts';", 'the engine owns its interfaces'],
    ['engine/loop.ts', "import { contactPoint } from '../kinds/contact-point.ts';", 'kinds are passed in'],
    ['engine/loop.ts', "import PQueue from 'p-queue';", 'the engine sees no client library'],
    ['engine/loop.ts', "import { performance } from 'node:perf_hooks';", 'the clock is passed in'],
    ['engine/kind/plan.ts', "import { loop } from '../loop.ts';", 'what kinds see does not see the loop'],
    ['hosting/mirror.ts', "import { reflector } from '../kube/reflector.ts';", 'the two sides never meet'],
    ['hosting/mirror.ts', "import { reasons } from '../engine/kind/reasons.ts';", 'only the ports'],
    ['hosting/mirror.ts', "import { KubeConfig } from '@kubernetes/client-node';", 'a library of the other side'],
    ['kube/client.ts', "export { pool } from '../hosting/pool.ts';", 're-exports count'],
    ['kube/client.ts', "const pool = await import('../hosting/pool.ts');", 'so do dynamic imports'],
    ['kube/client.ts', "import pino from 'pino';", 'logging is passed in'],
    ['crd/a.ts', "import { loop } from '../engine/loop.ts';", 'the generator sees what kinds are'],
    ['telemetry/log.ts', "import { config } from '../config.ts';", 'settings are passed in'],
    ['simulator/a.ts', "import { Secret } from '../base/json.ts';", 'it would share our mistakes'],
    ['simulator/a.ts', "import { z } from 'zod';", 'it has no dependencies'],
    ['config.ts', "import { run } from './cli/run.ts';", 'everything may depend on it'],
    ['helpers/a.ts', '', 'a folder nobody decided on'],
    ['kube/client.ts', 'const home = process.env.HOME;', 'config.ts is the only reader'],
    ['cli/a.ts', "import { env } from 'node:process';", 'config.ts is the only reader'],
  ])('refuse, in %s: %s, because %s', (path, source, _because) => {
    expect(violations(new Map([[path, source]]))).toHaveLength(1);
  });

  it.each([
    ['kinds/a.ts', "import type { Alert } from '../hosting/bodies.ts';"],
    ['kinds/a.ts', "import { postAlert } from '../hosting/requests.ts';"],
    ['kinds/a.ts', "import type { Json } from '../engine/ports.ts';"],
    ['kinds/hosted-app/schema.ts', "import { text } from '../../engine/kind/schema/schema.ts';"],
    ['hosting/a.ts', "import { Secret } from '../base/json.ts';"],
    ['hosting/a.ts', "import PQueue from 'p-queue';\nimport { Pool } from 'undici';"],
    ['crd/a.ts', "import { kinds } from '../kinds/index.ts';"],
    ['telemetry/log.ts', "import type { Log } from '../engine/ports.ts';\nimport pino from 'pino';"],
    ['main.ts', "import { simulate } from './simulator/simulate.ts';"],
    ['config.ts', 'const home = process.env.HOME;'],
  ])('allow, in %s: %s', (path, source) => {
    expect(violations(new Map([[path, source]]))).toEqual([]);
  });
});

describe('the rooms', () => {
  it('of the engine and of the simulator use only rooms on lower floors', () => {
    expect(upwards(sources())).toEqual([]);
  });

  it('of the engine are ten at most, on eight floors', () => {
    expect(floors.engine.flat().length).toBeLessThanOrEqual(10);
    expect(floors.engine.length).toBeLessThanOrEqual(8);
  });

  it('would be refused an import upwards, of a type as well', () => {
    const source = "import type { Reconciler } from '../reconcile.ts';";

    expect(upwards(new Map([['engine/context/a.ts', source]]))).toHaveLength(1);
    expect(upwards(new Map([['engine/other/a.ts', '']]))).toHaveLength(1);
  });

  it('have no files that import one another in a circle', () => {
    expect(circles(sources())).toEqual([]);
  });

  it('would be refused a circle of types', () => {
    const files = new Map([
      ['a.ts', "import type { B } from './b.ts';"],
      ['b.ts', "import type { A } from './a.ts';"],
    ]);

    expect(circles(files)).toEqual(['a.ts → b.ts → a.ts']);
  });

  it('have at most fifteen files beside each other, those of the tests as well', () => {
    expect(crowded(sources())).toEqual([]);
    expect(crowded(filesUnder('test'))).toEqual([]);
    expect(crowded(new Map(Array.from({ length: 16 }, (_, n) => [`a/${n}.ts`, ''])))).toEqual(['a has 16 files']);
  });
});

describe('importsOf', () => {
  it('finds every form, over several lines, and nothing in comments', () => {
    const source = [
      "import a from 'a';",
      "import type { B } from 'b';",
      'import {',
      '  c,',
      '  type D,',
      "} from 'c';",
      "export * from 'd';",
      "export type { E } from 'e';",
      "import 'f';",
      "const g = import('g');",
      "// import h from 'h';",
      " * import i from 'i';",
    ].join('\n');

    expect(importsOf(source)).toEqual([
      { from: 'a', typesOnly: false },
      { from: 'b', typesOnly: true },
      { from: 'c', typesOnly: false },
      { from: 'd', typesOnly: false },
      { from: 'e', typesOnly: true },
      { from: 'f', typesOnly: false },
      { from: 'g', typesOnly: false },
    ]);
  });
});
