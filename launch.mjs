#!/usr/bin/env node
/*
 * Makes this checkout ready and runs one of its programs: installs the dependencies when they are missing or are not
 * the lockfile's, then starts the program on the Node that the lockfile brings where the machine's own is too old.
 *
 *   node launch.mjs FILE [ARGS...]
 *
 * It is the one file that must also run on an old Node and without any dependency.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const modules = join(root, 'node_modules');
const least = [24, 11];

/** The text of a JSON file, or undefined. */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > least[0] || (major === least[0] && minor >= least[1]);
}

/** Whether what is installed is what the lockfile says; packages for other machines may be absent. */
function isInstalled() {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages ?? {};
  const there = readJson(join(modules, '.package-lock.json'))?.packages;
  if (there === undefined) return false;
  const names = Object.keys(wanted).filter((name) => name !== '');
  const right = names.every((name) =>
    there[name] === undefined ? wanted[name].optional === true : there[name].version === wanted[name].version,
  );
  return right && Object.keys(there).every((name) => wanted[name] !== undefined);
}

/** Runs a program to its end; resolves to its exit code. */
function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, options);
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** Does the work while no other start in this checkout does the same. */
async function alone(work) {
  const lock = join(root, '.installing.tmp');
  const abandonedMs = 10_000;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const touched = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (touched !== undefined && Date.now() - touched > abandonedMs) rmSync(lock, { recursive: true, force: true });
    await sleep(300);
  }
  const alive = setInterval(() => utimesSync(lock, new Date(), new Date()), 1000);
  try {
    return await work();
  } finally {
    clearInterval(alive);
    rmdirSync(lock);
  }
}

async function install() {
  if (isInstalled()) return;
  const began = Date.now();
  process.stderr.write('installing dependencies (npm ci, about 20 s) …\n');
  // npm's own runtime may be old and then warns of packages that it only unpacks: they run on the Node we bring.
  const flags = ['ci', '--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts'];
  const npm = process.env.npm_execpath;
  const node = process.env.npm_node_execpath ?? process.execPath;
  const [command, args] = npm === undefined ? ['npm', flags] : [node, [npm, ...flags]];
  const code = await run(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}`);
  process.stderr.write(`dependencies installed in ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
}

/** A Node that is new enough: the lockfile's, or this one. */
function findNode() {
  const brought = join(modules, '.bin', 'node');
  if (existsSync(brought)) return brought;
  if (isRecent(process.versions.node)) return process.execPath;
  throw new Error(
    `Node ${least.join('.')} or newer is needed; this is ${process.versions.node}, and the lockfile brings none for ` +
      `${process.platform} on ${process.arch}: install one from https://nodejs.org`,
  );
}

/** Node reads compiled code from the first file on, and then never loads its compiler while nothing has changed. */
function keepingCompiled() {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return { NODE_COMPILE_CACHE: join(cache, 'apphosting', 'compiled') };
}

/** Runs the program as if it were this process: signals reach it, and its end is ours. */
function become(node, args) {
  const bin = join(modules, '.bin');
  const path = [bin, ...(process.env.PATH ?? '').split(':').filter((part) => part !== bin)].join(':');
  const child = spawn(node, args, {
    // The channel closes when we are killed: the program can notice that nobody waits for it any more.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...(/^(?:src|test)\//.test(args[0]) && keepingCompiled()), ...process.env, PATH: path },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  endWithNpm(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
}

/** npm killed by force cannot tell us; we see that our parent, or the parent of npm's shell, is another one. */
function endWithNpm(child) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const began = ancestors();
  const watch = setInterval(() => {
    if (ancestors() === began) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 1000);
  watch.unref();
}

/** Our parent and, where the system tells, its parent. */
function ancestors() {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`;
  } catch {
    return String(process.ppid);
  }
}

try {
  if (!isInstalled()) await alone(install);
  process.exitCode = await become(findNode(), process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
