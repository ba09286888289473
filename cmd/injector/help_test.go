package main

import (
	"testing"

	"graylane/test/help"
)

func TestTheHelpOfAllCommandsIsOfOneStyle(t *testing.T) { help.Check(t, rootCmd()) }
