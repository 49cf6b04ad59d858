// Command tools is what `npm run check:deploy` needs of other people's programs, as one program that is built once: Helm's
// renderer and linter, kubeconform, crdify, kstatus twice, Flux's health expressions, Argo CD's Lua machine, Prometheus, and the
// types in which other projects read their own kinds.
package main

import (
	"fmt"
	"os"
)

var commands = map[string]func(args []string){
	"template":   template,
	"lint":       lint,
	"conform":    conform,
	"compatible": compatible,
	"statuses":   statuses,
	"alerts":     alerts,
	"foreign":    foreign,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fail("usage: tools template|lint|conform|compatible|statuses|alerts|foreign ...")
	}
	commands[os.Args[1]](os.Args[2:])
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
